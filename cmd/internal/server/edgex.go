package server

import (
	"context"
	"net/http"

	"ledge/bridge/edgex"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/access"
	"ledge/projections"
	"ledge/store/bus"
)

// busPoster posts the events that EdgeX services publish on the bus, and busReader reads the events to publish. busOrigin is the address
// of these requests, because NATS does not name the publisher.
var (
	busPoster = domain.Identity{Actor: "bus", Role: domain.Poster}
	busReader = domain.Identity{Actor: "bus", Role: domain.Viewer}
)

const busOrigin = "nats:edgex"

// newReadings returns a Readings that posts events of EdgeX's message bus to core-data; nil without a bus.
func newReadings(p *Server) *edgex.Readings {
	if p.bus == nil {
		return nil
	}
	return edgex.New(edgex.Options{CoreData: coreDataAs(p, busPoster), Logger: p.Logger, Now: p.Now})
}

// newEvents returns an Events that publishes the events of core-data on EdgeX's message bus; nil without a bus.
func newEvents(p *Server) *edgex.Events {
	if p.bus == nil {
		return nil
	}
	return edgex.NewEvents(edgex.EventsOptions{
		Readings: p.Node.Readings.Appender, CoreData: coreDataAs(p, busReader), Own: busOrigin, MaxBytes: bus.EdgeXBytes,
		Changes: p.Node.Changes.Appender, Whole: p.Node.Entities.Whole,
		Read: func(f func(domain.View) error) error {
			return p.Node.Changes.Read(func(v *projections.View) error { return f(domain.View{State: v.State, Lists: v}) })
		},
		V3:      p.Config.EdgeXVersion == config.EdgeX4,
		Heard:   func() bool { return p.bus.Clients() > 0 },
		Publish: func(m edgex.Message) error { return p.bus.EdgeX().Publish(bus.Message(m)) },
		Logger:  p.Logger, Now: p.Now,
	})
}

// coreDataAs serves core-data in the name of the bus.
func coreDataAs(p *Server, as domain.Identity) http.Handler {
	return serviceAs(p, services.Data, as, busOrigin)
}

// serviceAs serves a REST service to an identity in the process. origin is the address of the events.
func serviceAs(p *Server, name string, as domain.Identity, origin string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(access.WithIdentity(r.Context(), as))
		r.RemoteAddr = origin
		p.servers.byName[name].handler.ServeHTTP(w, r)
	})
}

// publishEvents returns the workers that publish the events and the system events that are recorded from now on.
func publishEvents(p *Server) []func(context.Context) error {
	readings, changes := p.Node.Readings.Recorded()+1, p.Node.Changes.Recorded()+1
	return []func(context.Context) error{
		func(ctx context.Context) error { return p.events.Run(ctx, readings) },
		func(ctx context.Context) error { return p.events.RunChanges(ctx, changes) },
	}
}

// takeReadings returns the worker that takes the events of EdgeX's message bus.
func takeReadings(p *Server) func(context.Context) error {
	take := func(ctx context.Context, batch []bus.Message) error {
		messages := make([]edgex.Message, len(batch))
		for i, m := range batch {
			messages[i] = edgex.Message(m)
		}
		return p.readings.Take(ctx, messages)
	}
	return func(ctx context.Context) error { return p.bus.EdgeX().Take(ctx, take) }
}
