package command

import (
	"context"
	"sync"

	"ledge/domain"
)

// turns bounds the requests under way, in all and for each device service.
type turns struct {
	limits Limits
	all    chan struct{} // has one for each request under way

	mu sync.Mutex
	of map[string]*turn // by service; a service without requests has none
}

// turn has the requests of one device service.
type turn struct {
	underWay chan struct{} // has one for each request that waits for others only, or is under way
	requests int
}

func newTurns(limits Limits) *turns {
	return &turns{limits: limits, all: make(chan struct{}, limits.Concurrency), of: map[string]*turn{}}
}

// take waits until a request to a service may begin. Call done when it has ended. The error is ctx.Err(), or a domain Error if too many
// wait.
func (t *turns) take(ctx context.Context, service string) (done func(), err error) {
	own, ok := t.enter(service)
	if !ok {
		const full = "%d commands for the device service %q are under way or wait, which is the limit; try again"
		return nil, domain.Errorf(domain.Unavailable, full, t.limits.PerService+t.limits.Waiting, service)
	}
	select {
	case own.underWay <- struct{}{}:
	case <-ctx.Done():
		t.leave(service, own)
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-own.underWay
		t.leave(service, own)
		return nil, ctx.Err()
	}
	return func() {
		<-t.all
		<-own.underWay
		t.leave(service, own)
	}, nil
}

func (t *turns) enter(service string) (own *turn, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own = t.of[service]; own == nil {
		own = &turn{underWay: make(chan struct{}, t.limits.PerService)}
		t.of[service] = own
	}
	if own.requests >= t.limits.PerService+t.limits.Waiting {
		return nil, false
	}
	own.requests++
	return own, true
}

func (t *turns) leave(service string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.requests--; own.requests == 0 {
		delete(t.of, service)
	}
}
