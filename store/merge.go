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
		merged(heads, yield)
	}
}

// MergeAt is [Merge] where each log begins at a sequence of its own.
func MergeAt(ctx context.Context, logs []*Log, starts []uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		heads, stop := openAt(ctx, logs, starts)
		defer stop()
		merged(heads, yield)
	}
}

// merged yields the messages of all heads in the order of their times.
func merged(heads []*head, yield func(Message, error) bool) {
	for h := earliest(heads); h != nil; h = earliest(heads) {
		if !yield(h.message, h.err) || h.err != nil {
			return
		}
		h.step()
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

// openHeads opens the logs where Merge begins to read them.
func openHeads(ctx context.Context, logs []*Log, from uint64) (heads []*head, stop func()) {
	starts := make([]uint64, len(logs))
	starts[0] = from
	heads, stop = openAt(ctx, logs, starts)
	for _, h := range heads[1:] {
		h.done = h.done || from > 1 && heads[0].done
		for from > 1 && h.before(heads[0]) {
			h.step()
		}
	}
	return heads, stop
}

// openAt opens each log at a sequence.
func openAt(ctx context.Context, logs []*Log, starts []uint64) (heads []*head, stop func()) {
	stops := make([]func(), len(logs))
	for i, l := range logs {
		h := &head{}
		h.next, stops[i] = iter.Pull2(l.ReadRaw(ctx, starts[i], 0))
		h.step()
		heads = append(heads, h)
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
