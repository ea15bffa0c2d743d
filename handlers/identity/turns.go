package identity

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"ledge/domain"
)

// The bounds of the computations that wait.
const (
	mostWaiting      = 1024 // of all clients
	mostWaitingOfOne = 32   // of one client
)

// computing has the turns of this process.
// At most half of the processors compute: the rest is for clients that have logged in.
var computing = newTurns(max(1, runtime.NumCPU()/2))

// turns lets clients compute one after the other. Each client has one turn before any has a second one.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting int
	order   []string // the clients that wait; the first is the next
	clients map[string][]*turn
}

// turn is a computation that waits. Its channel gets nil when it may begin, else why it may not.
type turn struct{ begin chan error }

func newTurns(n int) *turns { return &turns{free: n, clients: map[string][]*turn{}} }

func errBusy() error {
	return soon(domain.Errorf(domain.TooMany, "too many logins wait; try again"), 1)
}

// take waits for a turn of a client. Whoever has got one calls give.
func (t *turns) take(ctx context.Context, client string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	w, err := t.enqueue(client)
	t.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-w.begin:
		return err
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case err := <-w.begin: // in the same moment
		if err == nil {
			t.next()
		}
	default:
		t.leave(client, w)
	}
	return ctx.Err()
}

// enqueue is called with the lock held.
func (t *turns) enqueue(client string) (*turn, error) {
	own := len(t.clients[client])
	if own >= mostWaitingOfOne || t.waiting >= mostWaiting && !t.displace(own) {
		return nil, errBusy()
	}
	w := &turn{make(chan error, 1)}
	if own == 0 {
		t.order = append(t.order, client)
	}
	t.clients[client] = append(t.clients[client], w)
	t.waiting++
	return w, nil
}

// displace refuses the last turn of the client with the most turns, if they are at least two more than own.
func (t *turns) displace(own int) bool {
	most := ""
	for _, client := range t.order {
		if len(t.clients[client]) > max(len(t.clients[most]), own+1) {
			most = client
		}
	}
	waiting := t.clients[most]
	if len(waiting) == 0 {
		return false
	}
	last := waiting[len(waiting)-1]
	t.leave(most, last)
	last.begin <- errBusy()
	return true
}

func (t *turns) leave(client string, w *turn) {
	i := slices.Index(t.clients[client], w)
	if i < 0 {
		return
	}
	t.waiting--
	t.clients[client] = slices.Delete(t.clients[client], i, i+1)
	if len(t.clients[client]) == 0 {
		delete(t.clients, client)
		t.order = slices.DeleteFunc(t.order, func(c string) bool { return c == client })
	}
}

func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

// next hands a turn that has ended to the next client.
func (t *turns) next() {
	if len(t.order) == 0 {
		t.free++
		return
	}
	client := t.order[0]
	w := t.clients[client][0]
	t.leave(client, w)
	if len(t.clients[client]) > 0 {
		t.order = append(t.order[1:], client)
	}
	w.begin <- nil
}
