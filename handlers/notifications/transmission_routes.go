package notifications

import (
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

var transmissionKind = handlers.Kind[domain.Transmission]{List: domain.ListTransmissions, Table: func(s domain.State) domain.Table[domain.Transmission] { return s.Transmissions }}

func (s service) routeTransmissions() {
	r := s.Routes
	r.GET("/transmission/all", s.listTransmissions(func(*gin.Context) ([]domain.Filter, error) { return nil, nil }))
	r.GET("/transmission/status/:status", s.listTransmissions(by(domain.IndexStatus, "status")))
	r.GET("/transmission/start/:start/end/:end", s.listTransmissions(handlers.ByTime(time.Millisecond, handlers.Unfiltered)))
	r.GET("/transmission/subscription/name/:name", s.listTransmissions(by(domain.IndexSubscription, "name")))
	r.GET("/transmission/notification/id/:id", s.listTransmissions(by(domain.IndexNotification, "id")))
	r.GET("/transmission/id/:id", handlers.WithID(s.API, s.byReader(func(shape transmissionShaper) handlers.Handler {
		return handlers.Get(s.API, s.notifications, "transmission", "id", transmissionKind.Table, func(e handlers.Envelope, d domain.Transmission) any {
			return &transmissionAnswer{e, shape(d)}
		})
	})))
}

type transmissionShaper func(domain.Transmission) transmissionShape

// byReader serves transmissions with what receivers answered to those who may make changes, and without it to all others.
func (s service) byReader(serve func(transmissionShaper) handlers.Handler) handlers.Handler {
	whole, hidden := serve(shapeTransmission), serve(hideResponses)
	return func(c *gin.Context) {
		if s.May(c.Request, domain.MayChange) {
			whole(c)
		} else {
			hidden(c)
		}
	}
}

func (s service) listTransmissions(filter handlers.Asked) handlers.Handler {
	return s.byReader(func(shape transmissionShaper) handlers.Handler {
		return handlers.ListOf(s.API, s.notifications, transmissionKind, filter, "transmissions", shape)
	})
}
