package bridge

import (
	"slices"

	"ledge/domain"
)

// routes is the bridge's own fold of the subscriptions, with an index from category and label to names, so that a
// notification is compared only with subscriptions that share its category or a label.
type routes struct {
	byName   map[string]domain.Subscription
	byTag    map[tag]map[string]bool
	channels int // of all subscriptions
}

// tag is a category or a label.
type tag struct {
	label bool
	name  string
}

func newRoutes() *routes {
	return &routes{byName: map[string]domain.Subscription{}, byTag: map[tag]map[string]bool{}}
}

func tags(categories, labels []string) []tag {
	list := make([]tag, 0, len(categories)+len(labels))
	for _, c := range categories {
		list = append(list, tag{false, c})
	}
	for _, l := range labels {
		list = append(list, tag{true, l})
	}
	return list
}

func (r *routes) put(s domain.Subscription) {
	r.delete(s.Name)
	r.byName[s.Name] = s
	r.channels += len(s.Channels)
	for _, t := range tags(s.Categories, s.Labels) {
		if r.byTag[t] == nil {
			r.byTag[t] = map[string]bool{}
		}
		r.byTag[t][s.Name] = true
	}
}

func (r *routes) delete(name string) {
	s, ok := r.byName[name]
	if !ok {
		return
	}
	delete(r.byName, name)
	r.channels -= len(s.Channels)
	for _, t := range tags(s.Categories, s.Labels) {
		delete(r.byTag[t], name)
		if len(r.byTag[t]) == 0 {
			delete(r.byTag, t)
		}
	}
}

// match returns the names of the subscriptions that want n, sorted.
func (r *routes) match(n domain.Notification) []string {
	var names []string
	for _, t := range tags([]string{n.Category}, n.Labels) {
		for name := range r.byTag[t] {
			if r.byName[name].Matches(n) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// wanting returns the subscriptions that want n, in the order of their names.
func (r *routes) wanting(n domain.Notification) []domain.Subscription {
	names := r.match(n)
	list := make([]domain.Subscription, len(names))
	for i, name := range names {
		list[i] = r.byName[name]
	}
	return list
}

// step folds one event; it returns the channels that came and went.
func (r *routes) step(e domain.Event) (came, went []domain.Channel) {
	switch e := e.(type) {
	case domain.SubscriptionAdded:
		r.put(e.Subscription)
		return e.Subscription.Channels, nil
	case domain.SubscriptionUpdated:
		r.put(e.Subscription)
		return e.Subscription.Channels, e.Before.Channels
	case domain.SubscriptionRemoved:
		r.delete(e.Subscription.Name)
		return nil, e.Subscription.Channels
	default:
		return nil, nil
	}
}

// undo takes one event back, the newest first.
func (r *routes) undo(e domain.Event) {
	switch e := e.(type) {
	case domain.SubscriptionAdded:
		r.delete(e.Subscription.Name)
	case domain.SubscriptionUpdated:
		r.put(e.Before)
	case domain.SubscriptionRemoved:
		r.put(e.Subscription)
	}
}
