package bridge

import (
	"errors"
	"time"

	"ledge/bridge/dns"
	"ledge/domain"
)

// A socket that could not be bound is tried again after firstBind, then after twice as long each time, up to lastBind.
const (
	firstBind = time.Second
	lastBind  = 10 * time.Second
)

// waiting is what is known of a socket that could not be bound.
type waiting struct {
	ch   domain.Channel // one of those that use it
	uses int
	err  error // of the last try
}

// bindLater notes a use that is without its socket; the first one of an endpoint starts the tries.
func (c *channels) bindLater(ch domain.Channel, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := endpointOf(ch)
	if w := c.unbound[e]; w != nil {
		w.uses, w.err = w.uses+1, err
		return
	}
	w := &waiting{ch: ch, uses: 1, err: err}
	c.unbound[e] = w
	pause := firstBind
	if errors.Is(err, dns.ErrNotAsked) {
		pause = 0 // nothing is known to be wrong: its name was not looked up yet
	} else {
		c.logger.Warn(notBound, "host", e.host, "port", e.port, "error", err)
	}
	c.tries.Go(func() { c.tryUntilBound(e, w, pause) })
}

const notBound = "channel not bound, tried again until it is"

// tryUntilBound returns when w is bound, when nobody uses it any more, or with the engine. A try may have to ask a name
// server, hence one goroutine for each endpoint.
func (c *channels) tryUntilBound(e endpoint, w *waiting, pause time.Duration) {
	for ; ; pause = max(firstBind, min(2*pause, lastBind)) {
		again := time.NewTimer(pause)
		select {
		case <-c.ctx.Done():
			again.Stop()
			return
		case <-again.C:
		}
		if !c.waits(e, w) {
			return
		}
		c.lookUp(c.ctx, e.host, e.port)
		if c.try(e, w) {
			return
		}
		if pause == 0 {
			c.logger.Warn(notBound, "host", e.host, "port", e.port, "error", c.whyUnbound(e))
		}
	}
}

func (c *channels) waits(e endpoint, w *waiting) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unbound[e] == w
}

// try binds the socket for all its uses. It reports whether there is nothing more to try.
func (c *channels) try(e endpoint, w *waiting) bool {
	err := c.sockets.Acquire(w.ch)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.unbound[e] != w: // given back meanwhile
		if err == nil {
			c.sockets.Release(w.ch)
		}
		return true
	case err != nil:
		w.err = err
		return false
	}
	for range w.uses - 1 {
		_ = c.sockets.Acquire(w.ch) // it is bound: this only counts
	}
	delete(c.unbound, e)
	c.logger.Info("channel bound", "host", e.host, "port", e.port)
	return true
}

// waitsNoMore takes one use back that is without its socket, if there is one.
func (c *channels) waitsNoMore(e endpoint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.unbound[e]
	if w == nil {
		return false
	}
	if w.uses--; w.uses == 0 {
		delete(c.unbound, e)
	}
	return true
}

// whyUnbound is why an endpoint has no socket, nil where it has one.
func (c *channels) whyUnbound(e endpoint) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.unbound[e]; w != nil {
		return w.err
	}
	return nil
}
