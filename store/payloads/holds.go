package payloads

import "sync"

// holds are the payloads that must not be collected, because their messages are still on the way.
type holds struct {
	mu     sync.Mutex
	held   map[string]int
	asked  map[string]chan struct{} // those about which is being decided; closed when it is
	unused chan struct{}
}

func newHolds() holds {
	return holds{held: map[string]int{}, asked: map[string]chan struct{}{}, unused: make(chan struct{}, 1)}
}

// hold waits where the payload is just being collected: afterwards it is there, or it is not.
func (h *holds) hold(digest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.asked[digest] != nil {
		decided := h.asked[digest]
		h.mu.Unlock()
		<-decided
		h.mu.Lock()
	}
	h.held[digest]++
}

// Release ends the hold of one Put. Call it once it is certain whether a message refers to the payload; used says so.
func (h *holds) Release(digest string, used bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[digest]--; h.held[digest] > 0 {
		return
	}
	delete(h.held, digest)
	if !used {
		select {
		case h.unused <- struct{}{}:
		default:
		}
	}
}

// Unused receives a value after payloads were released unused.
func (h *holds) Unused() <-chan struct{} { return h.unused }

// begin reports whether nobody holds the payload. Then nobody can until end.
func (h *holds) begin(digest string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[digest] > 0 || h.asked[digest] != nil {
		return false
	}
	h.asked[digest] = make(chan struct{})
	return true
}

func (h *holds) end(digest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.asked[digest])
	delete(h.asked, digest)
}
