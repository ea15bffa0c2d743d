// Package lookups looks up the names of hosts for clients, some at once for each.
package lookups

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"ledge/domain"
)

// Names finds the addresses of hosts where sockets are bound.
type Names interface {
	// Unknown reports whether the address of a host has to be looked up before a socket is bound there.
	Unknown(host string, port int) bool
	// LookUp looks it up, and has whoever binds know it.
	LookUp(ctx context.Context, host string)
}

const (
	// namesAtOnce is how many names are looked up at once for one client, and namesTime how long all those of one request may take.
	// A name that has no address by then is refused by whoever needs it.
	namesAtOnce = 8
	namesTime   = 5 * time.Second
)

// LookUp looks up hosts for a client, each once, and returns when that is done, when namesTime is over or when the request ends.
func (c *Clients) LookUp(ctx context.Context, names Names, remote string, hosts map[string]bool) {
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	client, done := c.of(remote)
	defer done()
	var asking errgroup.Group
	asking.SetLimit(namesAtOnce)
	for name := range hosts {
		if ctx.Err() != nil {
			break
		}
		asking.Go(func() error {
			select {
			case client <- struct{}{}:
				defer func() { <-client }()
				names.LookUp(ctx, name)
			case <-ctx.Done():
			}
			return nil
		})
	}
	_ = asking.Wait()
}

// Clients has a semaphore for each client that is looking up names.
type Clients struct {
	mu  sync.Mutex
	all map[string]*clientName
}

type clientName struct {
	places   chan struct{}
	requests int
}

func (c *Clients) of(remote string) (places chan struct{}, done func()) {
	client := domain.ClientOf(remote)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]*clientName{}
	}
	one := c.all[client]
	if one == nil {
		one = &clientName{places: make(chan struct{}, namesAtOnce)}
		c.all[client] = one
	}
	one.requests++
	return one.places, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if one.requests--; one.requests == 0 {
			delete(c.all, client)
		}
	}
}
