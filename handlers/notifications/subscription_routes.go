package notifications

import (
	"fmt"
	"strings"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
	"ledge/handlers/noticed"
)

func (s service) subscriptionRoutes() []handlers.Route {
	list := func(index, param string) handlers.Handler { return s.listSubscriptions(handlers.By(index, param)) }
	add := handlers.BatchOf(s.API, s.events, handlers.EntityIn[subscriptionShape]("subscription"), s.addSubscription)
	update := handlers.BatchOf(s.API, s.events, handlers.PatchIn[subscriptionShape]("subscription"), s.updateSubscription)
	show := func(e handlers.Envelope, d domain.Subscription) any {
		return &subscriptionAnswer{e, s.shapeSubscription(d)}
	}
	get := handlers.Get(s.API, s.subscriptions, "subscription", "name", entities.Subscriptions, show)
	remove := handlers.Remove(s.API, s.events, "name", func(name string) domain.Command { return domain.RemoveSubscription{Name: name} })
	return []handlers.Route{
		{Method: "POST", Path: "/subscription", Right: domain.MayServe, Handle: add},
		{Method: "PATCH", Path: "/subscription", Right: domain.MayChange, Handle: update},
		{Method: "GET", Path: "/subscription/all", Right: domain.MayRead, Handle: s.listSubscriptions(handlers.Unfiltered)},
		{Method: "GET", Path: "/subscription/category/:category", Right: domain.MayRead, Handle: list(domain.IndexCategory, "category")},
		{Method: "GET", Path: "/subscription/label/:label", Right: domain.MayRead, Handle: list(domain.IndexLabel, "label")},
		{Method: "GET", Path: "/subscription/receiver/:receiver", Right: domain.MayRead, Handle: list(domain.IndexReceiver, "receiver")},
		{Method: "GET", Path: "/subscription/name/:name", Right: domain.MayRead, Handle: get},
		{Method: "DELETE", Path: "/subscription/name/:name", Right: domain.MayChange, Handle: remove},
	}
}

// replayOrderRoutes have no past.
func replayOrderRoutes(s service) []handlers.Route {
	return []handlers.Route{
		{Method: "POST", Path: "/subscription/name/:name/replay", Right: domain.MayChange, Handle: s.replay},
		{Method: "GET", Path: "/subscription/name/:name/cursor", Right: domain.MayRead, Handle: s.cursor},
	}
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
	return handlers.List(s.API, s.subscriptions, entities.Subscriptions, filter, "subscriptions", s.shapeSubscription)
}

// categoryNote names the categories that no notification has yet, and for each the one that may be meant.
func (s service) categoryNote(categories []string) string {
	view, done := s.notifications()
	defer done()
	var notes []string
	unseen, _ := noticed.UnseenCategories(view, categories)
	for _, one := range unseen {
		note := fmt.Sprintf("no notification has the category %q yet", one.Value)
		if one.Meant != "" {
			note += fmt.Sprintf("; did you mean %s?", one.Meant)
		}
		notes = append(notes, note)
	}
	return strings.Join(notes, "; ")
}
