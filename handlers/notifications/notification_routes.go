package notifications

import (
	"cmp"

	"ledge/domain"
	"ledge/handlers"
)

var notificationKind = handlers.Kind[domain.Notification]{List: domain.ListNotifications, Table: func(s domain.State) domain.Table[domain.Notification] { return s.Notifications }}

func (s service) routeNotifications() {
	r := s.Routes
	r.POST("/notification", handlers.Batch(s.API, s.notices, "notification", s.addNotification))
	r.GET("/notification/id/:id", handlers.WithID(s.API, handlers.Get(s.API, s.notifications, "notification", "id", notificationKind.Table,
		func(e handlers.Envelope, d domain.Notification) any {
			return &notificationAnswer{e, shapeNotification(d)}
		})))
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
