package node

import (
	"context"
	"sync"
	"time"
)

// Wake has the reader of c, which has room for one, look again.
func Wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will
	}
}

// forgetEvery is how often what retention has removed from the log is taken out of the state.
const forgetEvery = 10 * time.Second

// forgetInBackground does so at once and again and again until close.
func (n *Node) forgetInBackground(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(forgetEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			for _, p := range n.Parts()[1:] {
				n.Forget(ctx, p)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	n.onClose(func() error { stop(); running.Wait(); return nil })
}

// Forget removes from the state the entries that the log has lost to retention.
func (n *Node) Forget(ctx context.Context, p *Part) {
	started := time.Now()
	rows, err := p.State.Forget(ctx, p.Log.First())
	switch {
	case err != nil && ctx.Err() == nil:
		n.Logger.Warn("what retention has removed from the log is still in the state", "file", p.File, "error", err)
	case rows > 0:
		if p == &n.Readings {
			Wake(n.Forgotten)
		}
		n.Logger.Debug("removed from the state what retention has removed from the log", "file", p.File, "rows", rows, "took", time.Since(started))
	}
}
