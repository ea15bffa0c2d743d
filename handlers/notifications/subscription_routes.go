package notifications

import (
	"fmt"
	"strings"

	"ledge/domain"
	"ledge/handlers"
)

var subscriptionKind = handlers.Kind[domain.Subscription]{List: domain.ListSubscriptions, Table: func(s domain.State) domain.Table[domain.Subscription] { return s.Subscriptions }}

func (s service) routeSubscriptions() {
	r := s.Routes
	r.POST("/subscription", handlers.BatchOf(s.API, s.events, handlers.EntityIn[subscriptionShape]("subscription"), s.addSubscription))
	r.PATCH("/subscription", handlers.BatchOf(s.API, s.events, handlers.PatchIn[subscriptionShape]("subscription"), s.updateSubscription))
	r.GET("/subscription/all", s.listSubscriptions(handlers.Unfiltered))
	r.GET("/subscription/category/:category", s.listSubscriptions(handlers.By(domain.IndexCategory, "category")))
	r.GET("/subscription/label/:label", s.listSubscriptions(handlers.By(domain.IndexLabel, "label")))
	r.GET("/subscription/receiver/:receiver", s.listSubscriptions(handlers.By(domain.IndexReceiver, "receiver")))
	r.GET("/subscription/name/:name", handlers.Get(s.API, s.subscriptions, "subscription", "name", subscriptionKind.Table,
		func(e handlers.Envelope, d domain.Subscription) any {
			return &subscriptionAnswer{e, s.shapeSubscription(d)}
		}))
	r.DELETE("/subscription/name/:name", handlers.Remove(s.API, s.events, "name",
		func(name string) domain.Command { return domain.RemoveSubscription{Name: name} }))
}

func (s service) addSubscription(shape *subscriptionShape, at int64) handlers.Order {
	d := shape.subscription()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{
		Command: domain.AddSubscription{Subscription: d}, ID: d.ID, Note: s.categoryNote(d.Categories),
		Problems: problems, Names: s.names(d.Channels), Reserve: s.reserve(d.Channels),
	}
}

func (s service) updateSubscription(shape domain.Patch[subscriptionShape], at int64) handlers.Order {
	p := domain.PatchAs(shape, subscriptionShape.subscription)
	problems := p.Check()
	o := handlers.Order{Command: domain.UpdateSubscription{Patch: p, At: at}, Problems: problems, Note: s.categoryNote(p.Is.Categories)}
	if p.Has("channels") {
		o.Names, o.Reserve = s.names(p.Is.Channels), s.reserve(p.Is.Channels)
	}
	return o
}

// names are the hosts whose addresses must be looked up before sockets are bound there.
func (s service) names(channels []domain.Channel) (hosts []string) {
	for _, c := range channels {
		if s.Names != nil && c.Type == domain.ChannelZeroMQ && s.Names.Unknown(c.Host, c.Port) {
			hosts = append(hosts, c.Host)
		}
	}
	return hosts
}

func (s service) reserve(channels []domain.Channel) func() (func(uint64), error) {
	return func() (func(uint64), error) { return s.channels.Reserve(channels) }
}

func (s service) listSubscriptions(filter handlers.Filter) handlers.Handler {
	return handlers.List(s.API, s.subscriptions, subscriptionKind, filter, "subscriptions", s.shapeSubscription)
}

// categoryNote names the categories that no notification has yet, and for each the one that may be meant.
func (s service) categoryNote(categories []string) string {
	view, done := s.notifications()
	defer done()
	var notes []string
	unseen, _ := handlers.UnseenCategories(view, categories)
	for _, one := range unseen {
		note := fmt.Sprintf("no notification has the category %q yet", one.Value)
		if one.Meant != "" {
			note += fmt.Sprintf("; did you mean %s?", one.Meant)
		}
		notes = append(notes, note)
	}
	return strings.Join(notes, "; ")
}
