package server

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// background is what a server does beside its services until Close, and how it ends.
type background struct {
	ctx     context.Context //nolint:containedctx // of the workers
	stop    context.CancelFunc
	workers errgroup.Group
	closers []func()
	failed  chan error
	// cause returns the failure behind the error of a worker, or the error.
	cause func(error) error
}

func newBackground(cause func(error) error) *background {
	ctx, stop := context.WithCancel(context.Background())
	return &background{ctx: ctx, stop: stop, failed: make(chan error, 1), cause: cause}
}

// onClose has Close call f, before what was given to onClose earlier.
func (b *background) onClose(f func()) { b.closers = append(b.closers, f) }

// Close stops what Run started, the last first: requests in work are answered, deliveries are recorded, the log is closed clean.
func (b *background) Close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		b.closers[i]()
	}
	b.closers = nil
}

// inBackground runs each of the workers until stopWorkers. One that ends before fails the server.
func (b *background) inBackground(workers ...func(context.Context) error) {
	for _, f := range workers {
		b.workers.Go(func() error {
			err := f(b.ctx)
			if b.ctx.Err() == nil {
				b.fail(b.cause(err))
			}
			return err
		})
	}
}

// stopWorkers stops the workers and waits for them.
func (b *background) stopWorkers() {
	b.stop()
	_ = b.workers.Wait() // the error of one that has failed is that of Failed
}

// Failed yields, once, the error that makes it wrong to continue: of the store, of the bridge or of a service.
func (b *background) Failed() <-chan error { return b.failed }

// fail reports an error to Failed; only the first one counts.
func (b *background) fail(err error) {
	select {
	case b.failed <- err:
	default:
	}
}
