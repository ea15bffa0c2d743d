package store

import (
	"context"
	"encoding/hex"
	"sync"
)

// Info says where a log begins and ends.
type Info struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Chain string `json:"chain"` // hex
}

// Info returns where each log begins, and where it ends for queries, by stream: what is read up to there can be asked about.
func (s *Store) Info() map[string]Info {
	all := map[string]Info{}
	for _, l := range s.logs {
		last, chain := l.visible()
		all[l.name] = Info{l.First(), last, hex.EncodeToString(chain[:])}
	}
	return all
}

// InfoAfter waits until a log goes on behind a place or ctx ends, and returns Info.
func (s *Store) InfoAfter(ctx context.Context, after Place) map[string]Info {
	for {
		more, all := s.shown.next(), s.Info()
		for name, info := range all {
			if info.Last > after[name] {
				return all
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return all
		}
	}
}

// signal wakes all that wait for the next event of some kind.
type signal struct {
	mu   sync.Mutex
	more chan struct{} // nil while nobody waits
}

// next returns a channel that the next call of wake closes.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more == nil {
		s.more = make(chan struct{})
	}
	return s.more
}

func (s *signal) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}
