package notifications

import (
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
)

var transmissionKind = entities.Kind[domain.Transmission]{List: domain.ListTransmissions, Table: func(s domain.State) domain.Table[domain.Transmission] { return s.Transmissions }}

func (s service) transmissionRoutes() []handlers.Route {
	list := func(index, param string) handlers.Handler { return s.listTransmissions(by(index, param)) }
	ofSubscription := list(domain.IndexSubscription, "name")
	all := s.listTransmissions(func(*gin.Context) ([]domain.Filter, error) { return nil, nil })
	between := s.listTransmissions(handlers.ByTime(time.Millisecond, handlers.Unfiltered))
	get := s.byReader(func(shape transmissionShaper) handlers.Handler {
		show := func(e handlers.Envelope, d domain.Transmission) any { return &transmissionAnswer{e, shape(d)} }
		return handlers.Get(s.API, s.notifications, "transmission", "id", transmissionKind, show)
	})
	return []handlers.Route{
		{Method: "GET", Path: "/transmission/all", Right: domain.MayRead, Handle: all},
		{Method: "GET", Path: "/transmission/status/:status", Right: domain.MayRead, Handle: list(domain.IndexStatus, "status")},
		{Method: "GET", Path: "/transmission/start/:start/end/:end", Right: domain.MayRead, Handle: between},
		{Method: "GET", Path: "/transmission/subscription/name/:name", Right: domain.MayRead, Handle: ofSubscription},
		{Method: "GET", Path: "/transmission/notification/id/:id", Right: domain.MayRead, Handle: list(domain.IndexNotification, "id")},
		{Method: "GET", Path: "/transmission/id/:id", Right: domain.MayRead, Handle: handlers.WithID(s.API, get)},
		{Method: "POST", Path: "/transmission/id/:id/resend", Right: domain.MayChange, Handle: resender{s}.resend},
		{Method: "POST", Path: "/transmission/subscription/name/:name/resend", Right: domain.MayChange, Handle: resender{s}.resendFailed},
	}
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
