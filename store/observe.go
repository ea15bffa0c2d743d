package store

import (
	"sync/atomic"
	"time"
)

// Observer is told what appends do, for metrics. It is called by one goroutine for each stream, and must be quick.
type Observer interface {
	// Appended is told of each group that is durable: of how many events, of how many bytes, and how long it took from
	// the first decision to the fold.
	Appended(stream string, events, bytes int, took time.Duration)
	// Synced is told of each fsync of a group, also of one that failed.
	Synced(stream string, took time.Duration)
}

// observer holds the one Observer of a store.
type observer struct{ atomic.Pointer[Observer] }

// Observe has an observer told from now on.
func (s *Store) Observe(o Observer) { s.observer.Store(&o) }

func (l *Log) observeGroup(events, bytes int, began time.Time) {
	if o := l.store.observer.Load(); o != nil && events > 0 {
		(*o).Appended(l.name, events, bytes, time.Since(began))
	}
}

func (l *Log) observeSync(began time.Time) {
	if o := l.store.observer.Load(); o != nil {
		(*o).Synced(l.name, time.Since(began))
	}
}

// Queued returns the number of requests that wait to be recorded.
func (a *Appender) Queued() int { return a.queue.length() }

// TapClients is how many clients the tap has.
func (s *Store) TapClients() int {
	if s.taps == nil {
		return 0
	}
	return s.taps.clients()
}
