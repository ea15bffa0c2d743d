package store

import (
	"context"
	"iter"
)

const (
	// recentMessages and recentMessageBytes bound the messages in memory for [Appender.FollowMessages].
	recentMessages     = 2_048
	recentMessageBytes = 2 << 20
)

// Log returns the log of the appender.
func (a *Appender) Log() *Log { return a.log }

// FollowMessages is as [Appender.Follow], with the messages as they stand on the log. The appender needs AppenderOptions.Messages.
func (a *Appender) FollowMessages(ctx context.Context, from uint64, f func([]Message) error) error {
	return follow(ctx, a.messages, from, f, func(from, to uint64) iter.Seq2[[]Message, error] { return a.log.Messages(ctx, from, to) })
}

// Messages returns the messages from one sequence to another, both included, as they stand on the log, in slices, also
// from archives.
func (l *Log) Messages(ctx context.Context, from, to uint64) iter.Seq2[[]Message, error] {
	return func(yield func([]Message, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		for p := range l.pages(ctx, from, to) {
			for i, m := range p.messages {
				p.messages[i] = m.AsWritten()
			}
			if (len(p.messages) > 0 || p.err != nil) && !yield(p.messages, p.err) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// message is the message of an event that was just recorded.
func (l *Log) message(e *entry) Message {
	return Message{Seq: e.Seq, At: e.At, Subject: l.public + e.subject, Header: e.header, Data: e.data}
}

// messagesOf are the messages of a group.
func (l *Log) messagesOf(run []entry) []Message {
	list := make([]Message, len(run))
	for i := range run {
		list[i] = l.message(&run[i])
	}
	return list
}

// AsWritten returns the message with its headers as they stand on the log.
func (m Message) AsWritten() Message {
	m.Header = m.writtenHeader()
	return m
}

// writtenHeader returns the headers as they stand on the log. Readers restore the headers that the short form leaves out.
func (m Message) writtenHeader() Header {
	if !isShortChain(m.Header.Get(headerChain)) {
		return m.Header
	}
	h, _ := shortHeader(m.Header)
	return h
}

// Chain returns the chain hash of the message, as it stands there; empty for an event that is not recorded.
func (m Message) Chain() string { return m.Header.Get(headerChain) }

// Prefix begins the subjects of all messages of the log for NATS clients, such as "ledge.event.".
func (l *Log) Prefix() string { return l.public }

// Visible returns the sequence of the last event that queries show; 0 if there is none.
func (l *Log) Visible() uint64 {
	seq, _ := l.visible()
	return seq
}

// Tail returns the first sequence of the last block files that have so many bytes together, or the first on the log.
func (l *Log) Tail(bytes int64) (uint64, error) {
	all, err := l.blocks.List()
	if err != nil {
		return 0, err
	}
	for i := len(all) - 1; i > 0; i-- {
		if bytes -= l.blocks.Size(all[i]); bytes <= 0 {
			if first, err := l.firstIn(all[i]); err == nil {
				return max(first, l.First()), nil
			}
		}
	}
	return l.First(), nil
}
