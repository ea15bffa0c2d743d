package payloads

import "sync"

// digestLocks is a lock per digest: one upload at a time gives its file the name of the digest.
type digestLocks struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by digest; closed when the turn ends
}

// lock takes the lock of a digest, which is held for an fsync or two, and returns the function that releases it.
func (t *digestLocks) lock(digest string) (end func()) {
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
