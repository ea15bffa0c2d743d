package notifications

import (
	"cmp"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
)

func (s service) notificationRoutes() []handlers.Route {
	add := handlers.Batch(s.API, s.notices, "notification", s.addNotification)
	show := func(e handlers.Envelope, d domain.Notification) any {
		return &notificationAnswer{e, shapeNotification(d)}
	}
	get := handlers.Get(s.API, s.notifications, "notification", "id", entities.Notifications, show)
	list := func(index, param string) handlers.Handler { return s.listNotifications(by(index, param)) }
	bySubscription := s.listNotifications(s.bySubscription)
	between := s.listNotifications(handlers.ByTime(time.Millisecond, handlers.Unfiltered))
	return []handlers.Route{
		{Method: "POST", Path: "/notification", Right: domain.MayServe, Handle: add},
		{Method: "GET", Path: "/notification/id/:id", Right: domain.MayRead, Handle: handlers.WithID(s.API, get)},
		{Method: "GET", Path: "/notification", Right: domain.MayRead, Handle: s.findNotifications},
		{Method: "GET", Path: "/notification/category/:category", Right: domain.MayRead, Handle: list(domain.IndexCategory, "category")},
		{Method: "GET", Path: "/notification/label/:label", Right: domain.MayRead, Handle: list(domain.IndexLabel, "label")},
		{Method: "GET", Path: "/notification/status/:status", Right: domain.MayRead, Handle: list(domain.IndexStatus, "status")},
		{Method: "GET", Path: "/notification/start/:start/end/:end", Right: domain.MayRead, Handle: between},
		{Method: "GET", Path: "/notification/subscription/name/:name", Right: domain.MayRead, Handle: bySubscription},
		{Method: "PUT", Path: "/notification/acknowledge/ids/:ids", Right: domain.MayChange, Handle: s.acknowledge(true)},
		{Method: "PUT", Path: "/notification/unacknowledge/ids/:ids", Right: domain.MayChange, Handle: s.acknowledge(false)},
	}
}

// addNotification checks a status that is given, but every notification begins as NEW.
func (s service) addNotification(e *addNotification, at int64) handlers.Order {
	n := e.Notification.notification()
	n.Status = cmp.Or(n.Status, domain.StatusNew)
	problems := n.Check()
	n.Status = domain.StatusNew
	n.ID, n.Created, n.Modified = s.idOr(n.ID), at, at
	return handlers.Order{Command: domain.AddNotification{Notification: n}, ID: n.ID, Problems: problems}
}
