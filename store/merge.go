package store

import (
	"context"
	"iter"
)

// Merge returns the messages of several logs in the order of their times: the first log from a sequence on, the others
// from the time of that message. Where the first log ends before that sequence, there is nothing of the others either.
func Merge(ctx context.Context, logs []*Log, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		heads, stop := openHeads(ctx, logs, from)
		defer stop()
		for {
			h := earliest(heads)
			if h == nil {
				return
			}
			if !yield(h.message, h.err) || h.err != nil {
				return
			}
			h.step()
		}
	}
}

// head is the next message of one log; done where there is none.
type head struct {
	message Message
	err     error
	done    bool
	next    func() (Message, error, bool)
}

func (h *head) step() {
	var ok bool
	h.message, h.err, ok = h.next()
	h.done = !ok
}

// before reports whether h has a message that is older than that of first.
func (h *head) before(first *head) bool {
	return !h.done && h.err == nil && first.err == nil && h.message.Stamp().At.Before(first.message.Stamp().At)
}

func openHeads(ctx context.Context, logs []*Log, from uint64) (heads []*head, stop func()) {
	var stops []func()
	for i, l := range logs {
		start := uint64(0)
		if i == 0 {
			start = from
		}
		next, end := iter.Pull2(l.ReadRaw(ctx, start, 0))
		h := &head{next: next}
		h.step()
		heads, stops = append(heads, h), append(stops, end)
		if i == 0 && from > 1 && h.done {
			break
		}
	}
	for _, h := range heads[1:] {
		for from > 1 && h.before(heads[0]) {
			h.step()
		}
	}
	return heads, func() {
		for _, end := range stops {
			end()
		}
	}
}

// earliest returns the head to go on with: one that failed, else the oldest.
func earliest(heads []*head) *head {
	var first *head
	for _, h := range heads {
		switch {
		case h.done:
		case h.err != nil:
			return h
		case first == nil || h.message.Stamp().At.Before(first.message.Stamp().At):
			first = h
		}
	}
	return first
}
