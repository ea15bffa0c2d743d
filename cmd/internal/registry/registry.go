// Package registry keeps the HTTP services registered with Consul, the registry in which EdgeX's services find each other.
//
// Each service is registered as EdgeX's go-mod-registry does it: under EdgeX's name, with its address, its port and an HTTP health check on
// ping. Package registry uses two requests of Consul's HTTP API for agents, PUT /v1/agent/service/register and
// PUT /v1/agent/service/deregister/ID.
package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledge/bridge/outward"
)

const (
	// retryAfter is the pause after a failure. EdgeX's services wait 60 s for the address of another one.
	retryAfter = 5 * time.Second
	// renewAfter is the pause after a success. An agent of Consul that was started again without its data then has the services again.
	renewAfter = 30 * time.Second
	// requestTime bounds one request, and stopTime all requests of Close.
	requestTime, stopTime = 5 * time.Second, 2 * time.Second
)

// Service is a service to register.
type Service struct {
	// Name is the name that EdgeX's services ask for, such as core-metadata. It is the id of the service too.
	Name string
	// URL has the scheme, the host and the port by which others reach the service, such as http://10.0.0.5:59881.
	URL string
}

// Options configure a Registry.
type Options struct {
	// Address is the host and the port of Consul's HTTP API. Token is for its access lists; "" sends no token.
	Address, Token string
	Services       []Service
	// IsOther reports whether another program has the name of a service, and registers itself. nil: none has.
	IsOther func(name string) bool
	// Dial connects to Consul.
	Dial outward.Dial
	// Advice is a warning that does not depend on Consul; "" for none.
	Advice string
	Logger *slog.Logger
}

// Registry keeps services registered from Start to Close. A nil Registry has no warnings.
type Registry struct {
	Options
	client *http.Client
	stop   context.CancelFunc
	done   chan struct{} // closed when nothing is registered any more

	mu         sync.Mutex
	registered bool  // Consul has taken one of the services since the start
	failure    error // of the last try; nil: all services are registered
}

// New returns a Registry that waits for Start.
func New(o Options) *Registry {
	return &Registry{Options: o, client: newClient(o.Dial), stop: func() {}}
}

// Start registers the services in the background, again and again until Close.
func (r *Registry) Start() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.done = stop, make(chan struct{})
	if r.Advice != "" {
		r.Logger.Warn(r.Advice)
	}
	go func() {
		defer close(r.done)
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(r.renew(ctx)):
			}
		}
	}()
}

// renew registers all services and returns the pause before the next time.
func (r *Registry) renew(ctx context.Context) (pause time.Duration) {
	var err error
	for _, s := range r.Services {
		if r.IsOther != nil && r.IsOther(s.Name) {
			continue
		}
		if err = r.register(ctx, s); err != nil {
			break // the next service would meet the same
		}
		r.mu.Lock()
		r.registered = true
		r.mu.Unlock()
	}
	if ctx.Err() != nil {
		return 0
	}
	r.note(err)
	if err != nil {
		return retryAfter
	}
	return renewAfter
}

// note keeps the outcome of a try for Warnings. It logs a failure once, until there is another kind of failure.
func (r *Registry) note(err error) {
	r.mu.Lock()
	before, first := r.failure, r.failure == nil
	r.failure = err
	r.mu.Unlock()
	switch {
	case err == nil && before != nil:
		r.Logger.Info("services are registered with Consul again", "registry", r.Address)
	case err != nil && (first || statusOf(err) != statusOf(before)):
		r.Logger.Warn("services are not registered with Consul; Ledge tries again", "registry", r.Address, "error", err)
	}
}

// Warnings returns the reason why the services are not registered, and the advice.
func (r *Registry) Warnings() (list []string) {
	if r == nil {
		return nil
	}
	if r.Advice != "" {
		list = append(list, r.Advice)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		list = append(list, fmt.Sprintf("EdgeX services cannot find Ledge at Consul: %v", r.failure))
	}
	return list
}

// Close takes the services back. If Consul is away, it returns after stopTime.
func (r *Registry) Close() {
	r.stop()
	if r.done != nil {
		<-r.done
	}
	if !r.registered {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var requests errgroup.Group
	for _, s := range r.Services {
		if r.IsOther == nil || !r.IsOther(s.Name) {
			requests.Go(func() error { return r.deregister(ctx, s) })
		}
	}
	if err := requests.Wait(); err != nil {
		r.Logger.Warn("Consul still has services that have ended", "registry", r.Address, "error", err)
	}
	r.registered = false
}

// statusOf returns the HTTP status of an answer of Consul that is an error, 0 if there was no answer.
func statusOf(err error) int {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e.status
	}
	return 0
}
