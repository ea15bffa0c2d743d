package payloads

import "sync"

// folder makes the names in it durable, with one sync for all that wait.
type folder struct {
	dir string
	do  func(dir string) error

	mu      sync.Mutex
	next    *naming // what those share that come while a sync is under way
	syncing bool
}

// naming is the fate of those that share a sync.
type naming struct {
	done chan struct{}
	err  error
}

// sync returns when the names are durable that were there when it was called.
func (f *folder) sync() error {
	f.mu.Lock()
	if f.next == nil {
		f.next = &naming{done: make(chan struct{})}
	}
	mine := f.next
	if !f.syncing {
		f.syncing = true
		go f.run()
	}
	f.mu.Unlock()
	<-mine.done
	return mine.err
}

// run syncs as long as somebody waits.
func (f *folder) run() {
	for {
		f.mu.Lock()
		now := f.next
		f.next, f.syncing = nil, now != nil
		f.mu.Unlock()
		if now == nil {
			return
		}
		now.err = f.do(f.dir)
		close(now.done)
	}
}
