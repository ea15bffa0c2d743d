package server

import (
	"context"
	"sync"
)

// work is what a server does until Close, and how it ends.
type work struct {
	closers []func()
	failed  chan error
	// findCause returns the failure behind an error of the work, or the error.
	findCause func(error) error
}

// onClose has Close call f, before what was given to onClose earlier.
func (w *work) onClose(f func()) { w.closers = append(w.closers, f) }

// Close stops what Run started, the last first: requests in work are answered, deliveries are recorded, the log is closed clean.
func (w *work) Close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
	w.closers = nil
}

// inBackground runs f until Close, which waits for it.
func (w *work) inBackground(f func(done <-chan struct{})) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { f(done) })
	w.onClose(func() { close(done); running.Wait() })
}

// runUntilClose runs each of the workers until Close. One that ends before fails the server.
func (w *work) runUntilClose(workers ...func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, f := range workers {
		running.Go(func() {
			if err := f(ctx); ctx.Err() == nil {
				w.fail(w.findCause(err))
			}
		})
	}
	w.onClose(func() { stop(); running.Wait() })
}

// Failed yields, once, the error that makes it wrong to continue: of the store, of the bridge or of a service.
func (w *work) Failed() <-chan error { return w.failed }

// fail reports an error to Failed; only the first one counts.
func (w *work) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}
