package tap

import (
	"context"
	"time"
)

// Source is the logs as the tap server reads them. Only one goroutine searches.
type Source interface {
	// Logs returns the logs, always the same ones.
	Logs() []Log
	// Info returns where each log begins and ends for queries, as JSON.
	Info() []byte
	// LastAppend returns when the last append began: history rests while others write.
	LastAppend() time.Time
}

// Log is one stream of events.
type Log interface {
	// Name is the name of the stream, such as "LEDGE_EVENTS".
	Name() string
	// Prefix begins the subjects under which taps see the events, such as "ledge.event.".
	Prefix() string
	// First returns the first sequence that is still on the log.
	First() uint64
	// Visible returns the sequence of the last event that queries show; 0 is none.
	Visible() uint64
	// Since returns the first sequence that was stored at a time or later, or the one after the last.
	Since(ctx context.Context, t time.Time) (uint64, error)
	// Search goes on with a search for one slice of the log.
	Search(ctx context.Context, s *Search) error
	// Backward looks for the last visible message on a subject. Each call of next reads one slice. The message is nil if there is none.
	Backward(filter string) (next func(ctx context.Context) (m *Message, done bool, err error))
}

// SliceBytes is about how many bytes of a log are read at a time, before it is the turn of the next client.
const SliceBytes = 64 << 10

// Search looks for messages until it has found the most that are wanted, or so many bytes of them, or has read a slice.
type Search struct {
	// From and To are sequences, both included. From is then where the search goes on.
	From, To uint64
	Filter   string // a subject, which may have wildcards; empty for all
	Most     int    // messages
	Bytes    int    // of the messages
	// At is where From is; a search that goes on begins there.
	At Position
	// Found is what was found in the slice. It is valid until the next search in any log.
	Found []Message
}

// Position is where in the block files a record is, or a record before it. Block 0 is an unknown position.
type Position struct {
	Block  uint32
	Offset int64
}

// Message is a message as it stands on a log. Headers is the whole block, with its first line and the empty one at its end.
type Message struct {
	Seq           uint64
	At            time.Time // when it was stored
	Subject       string
	Headers, Data []byte
}

// size is what counts for the bytes of a batch.
func (m *Message) size() int { return len(m.Subject) + len(m.Headers) + len(m.Data) }
