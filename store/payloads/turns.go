package payloads

import "sync"

// turns lets one upload at a time give its file a name.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by digest; closed when the turn ends
}

// take waits for the turn of a digest, which lasts as long as an fsync or two, and returns how to end it.
func (t *turns) take(digest string) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.taken[digest] != nil {
		ended := t.taken[digest]
		t.mu.Unlock()
		<-ended
		t.mu.Lock()
	}
	if t.taken == nil {
		t.taken = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	t.taken[digest] = mine
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.taken, digest)
		close(mine)
	}
}
