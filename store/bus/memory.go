package bus

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// memory bounds the bytes that wait in the server for all clients together. The server itself bounds those of one client.
type memory struct {
	bus  *Bus
	most int64

	mu     sync.Mutex
	queued int64 // bytes that may wait: the last measurement, and the messages published since
}

// measureEvery is the longest time between two measurements.
const measureEvery = 100 * time.Millisecond

func newMemory(b *Bus, most int64) *memory { return &memory{bus: b, most: most} }

// reserve counts a message of n bytes for each of its subscriptions before it is published. If it does not fit, clients are cut off, the one for
// which most waits first, until half of the memory is free.
func (m *memory) reserve(subject string, n int64) {
	s, _ := m.bus.now()
	if s == nil {
		return
	}
	copies := int64(0)
	for _, name := range []string{feedAccount, liveAccount, edgexAccount} {
		if a, err := s.LookupAccount(name); err == nil {
			copies += int64(a.Interest(subject))
		}
	}
	if copies == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queued+n*copies > m.most {
		m.measure(s)
	}
	if m.queued+n*copies > m.most {
		m.cut(s, n)
	}
	m.queued += n * copies
}

// awaitRoom waits until no more than replayPending waits. The server ends a connection that does not read within writeWait.
func (m *memory) awaitRoom(ctx context.Context) error {
	for ctx.Err() == nil {
		m.mu.Lock()
		if s, _ := m.bus.now(); s != nil && m.queued > replayPending {
			m.measure(s)
		}
		room := m.queued <= replayPending
		m.mu.Unlock()
		if room {
			return nil
		}
		pauseFor(restStep, ctx.Done())
	}
	return ctx.Err()
}

// watch measures again and again: messages for consumers are not reserved.
func (m *memory) watch(ctx context.Context) {
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s, _ := m.bus.now(); s != nil && m.bus.Clients() > 0 {
				m.mu.Lock()
				if m.measure(s); m.queued > m.most {
					m.cut(s, 0)
				}
				m.mu.Unlock()
			}
		}
	}
}

func (m *memory) measure(s *server.Server) {
	m.queued = 0
	for _, c := range connections(s) {
		m.queued += int64(c.Pending)
	}
}

func connections(s *server.Server) server.ConnInfos {
	all, err := s.Connz(&server.ConnzOptions{Limit: 1 << 20})
	if err != nil {
		return nil
	}
	return all.Conns
}

// cut closes connections, the one with most waiting of the client with most waiting first, until half of the memory is free. A message of
// n bytes that is next counts once for each subscription of a connection.
func (m *memory) cut(s *server.Server, n int64) {
	pending, by := map[uint64]int64{}, map[string]int64{}
	sessions, all := m.bus.gate.loggedIn(), int64(0)
	for _, c := range connections(s) {
		if of := sessions[c.Cid]; of != nil {
			pending[c.Cid] = int64(c.Pending) + n*int64(c.NumSubs)
			by[of.client] += pending[c.Cid]
			all += pending[c.Cid]
		}
	}
	for all > m.most/2 && len(pending) > 0 {
		cid := slices.MaxFunc(slices.Collect(maps.Keys(pending)), func(a, b uint64) int {
			return cmp.Or(cmp.Compare(by[sessions[a].client], by[sessions[b].client]), cmp.Compare(pending[a], pending[b]))
		})
		of := sessions[cid]
		m.bus.o.Logger.Warn(of.protocol+" client cut off: too much waits for it",
			"client", of.client, "bytes", pending[cid], "together", m.most)
		m.bus.gate.count(byMemory)
		by[of.client] -= pending[cid]
		all -= pending[cid]
		delete(pending, cid)
		of.close()
	}
	m.queued = all
}
