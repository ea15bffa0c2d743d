package server

import (
	"context"
	"net/http"

	"ledge/bridge/edgex"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/access"
	"ledge/store/bus"
)

// busIdentity posts the events that EdgeX services publish on the bus. busOrigin is the address of these requests, because NATS does not
// name the publisher.
var busIdentity = domain.Identity{Actor: "bus", Role: domain.Poster}

const busOrigin = "nats:edgex"

// newReadings returns a Readings that posts events of EdgeX's message bus to core-data; nil without a bus.
func newReadings(p *Server) *edgex.Readings {
	if p.bus == nil {
		return nil
	}
	return edgex.New(edgex.Options{CoreData: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(access.WithIdentity(r.Context(), busIdentity))
		r.RemoteAddr = busOrigin
		p.servers.byName[services.Data].handler.ServeHTTP(w, r)
	}), Logger: p.Logger, Now: p.Now})
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
