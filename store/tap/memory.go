package tap

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// memory bounds what waits in the server for all NATS clients together. The server itself has a bound for one connection
// alone, and that must hold the largest message.
type memory struct {
	proxy *proxy
	most  int64

	mu     sync.Mutex
	queued int64 // bytes that may wait: what was measured, and what was let in since
}

func newMemory(p *proxy, most int64) *memory { return &memory{proxy: p, most: most} }

// readWait is how long a message waits for taps to read what waits for them, before the slowest are cut off.
const readWait = 200 * time.Millisecond

// reserve reports whether n more bytes may wait for clients, and counts them. If they do not fit, it waits a moment for clients to
// read; then those that have most waiting are cut off until half is free.
func (m *memory) reserve(n int64) bool {
	if m.fits(n, m.measure) {
		return true
	}
	if n > m.most {
		return false
	}
	look := time.NewTicker(readWait / 50)
	defer look.Stop()
	for deadline := time.Now().Add(readWait); time.Now().Before(deadline); <-look.C {
		if m.fits(n, m.measure) {
			return true
		}
	}
	return m.fits(n, m.cut)
}

// fits counts n bytes, if they fit at once or after free.
func (m *memory) fits(n int64, free func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queued+n > m.most {
		free()
	}
	if m.queued+n > m.most {
		return false
	}
	m.queued += n
	return true
}

// watch measures again and again: what the server itself answers is not reserved.
func (m *memory) watch(ctx context.Context) {
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if m.proxy.clients() == 0 {
				continue
			}
			m.mu.Lock()
			if m.measure(); m.queued > m.most {
				m.cut()
			}
			m.mu.Unlock()
		}
	}
}

func (m *memory) measure() {
	m.queued = 0
	for _, c := range m.connections() {
		m.queued += int64(c.Pending)
	}
}

func (m *memory) connections() server.ConnInfos {
	all, err := m.proxy.server.Connz(&server.ConnzOptions{Limit: 1 << 20})
	if err != nil {
		return nil
	}
	return all.Conns
}

// pending returns the bytes that wait for the client on a connection of the server.
func (m *memory) pending(cid uint64) int64 {
	all, err := m.proxy.server.Connz(&server.ConnzOptions{CID: cid})
	if err != nil || len(all.Conns) == 0 {
		return 0
	}
	return int64(all.Conns[0].Pending)
}

// cut closes connections, the one with most waiting of the client with most waiting first, until half of the memory is free.
func (m *memory) cut() {
	pending, by := map[uint64]int64{}, map[string]int64{}
	m.queued = 0
	for _, c := range m.connections() {
		pending[c.Cid] = int64(c.Pending)
		m.queued += int64(c.Pending)
	}
	clients := m.proxy.all()
	for cid, client := range clients {
		by[client] += pending[cid]
	}
	for m.queued > m.most/2 && len(clients) > 0 {
		cid := slices.MaxFunc(slices.Collect(maps.Keys(clients)), func(a, b uint64) int {
			return cmp.Or(cmp.Compare(by[clients[a]], by[clients[b]]), cmp.Compare(pending[a], pending[b]))
		})
		client, n := clients[cid], pending[cid]
		if n == 0 {
			return
		}
		delete(clients, cid)
		by[client] -= n
		m.queued -= n
		m.proxy.log.Warn("tap cut off: too much waits for it", "client", client, "bytes", n, "together", m.most)
		m.proxy.kick(cid)
	}
}
