package store

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"ledge/domain"
)

// Skipped is an event that is as it was written, but whose body cannot be decoded. The state is folded without it.
type Skipped struct {
	Seq    uint64
	Type   string
	Reason string
}

func (s Skipped) String() string { return fmt.Sprintf("%d %s (%s)", s.Seq, s.Type, s.Reason) }

// maxSkipped is how many such events of a log are remembered, named and counted. Of more, the first are.
const maxSkipped = 1000

// skipped are those that were read since the start.
type skipped struct {
	mu  sync.Mutex
	all []Skipped
}

// skip notes an event, and names it in the program's log the first time that it is read.
func (l *Log) skip(seq uint64, u domain.Undecodable) {
	l.skipped.mu.Lock()
	defer l.skipped.mu.Unlock()
	known := slices.ContainsFunc(l.skipped.all, func(s Skipped) bool { return s.Seq == seq })
	if known || len(l.skipped.all) >= maxSkipped {
		return
	}
	l.skipped.all = append(l.skipped.all, Skipped{seq, u.Type, u.Reason})
	l.store.o.Logger.Warn("event cannot be decoded, and is skipped", "stream", l.name, "seq", seq, "type", u.Type, "reason", u.Reason)
}

// Skipped returns the events that were read since the start and could not be decoded, in the order of the log: the first
// 1,000 that were met.
func (l *Log) Skipped() []Skipped {
	l.skipped.mu.Lock()
	defer l.skipped.mu.Unlock()
	all := slices.Clone(l.skipped.all)
	slices.SortFunc(all, func(a, b Skipped) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
