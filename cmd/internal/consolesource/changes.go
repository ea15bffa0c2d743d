package consolesource

import (
	"context"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/handlers/console/web"
	"ledge/store"
)

// followChanges returns a function that tells of each event that is recorded from now on, until ctx ends.
func (s *Source) followChanges(changed func(web.Change)) func(ctx context.Context) error {
	type log struct {
		*store.Appender
		name string
		last uint64
	}
	var logs []log
	for i, appender := range []*store.Appender{s.Node.Changes.Appender, s.Node.Notifications.Appender, s.Node.Readings.Appender} {
		last, _ := s.Node.Parts()[i].State.Checkpoint()
		logs = append(logs, log{appender, eventlog.Names[i], last})
	}
	return func(ctx context.Context) error {
		all, ctx := errgroup.WithContext(ctx)
		for _, l := range logs {
			all.Go(func() error {
				return l.Follow(ctx, l.last+1, func(group []domain.Recorded) error {
					for _, r := range group {
						changed(changeOf(r.Event))
					}
					changed(web.Change{Topic: "ledger", Name: l.name})
					return nil
				})
			})
		}
		return all.Wait()
	}
}

// position says how far the state is, of each log.
func (s *Source) position() string {
	var text []string
	for _, one := range s.Node.Parts() {
		seq, _ := one.State.Checkpoint()
		text = append(text, strconv.FormatUint(seq, 36))
	}
	return strings.Join(text, ".")
}

// topics are what the console calls the kinds of entities in subjects of the log of changes.
var topics = map[string]string{
	"device": "devices", "command": "devices", "profile": "profiles", "service": "services", "watcher": "watchers", "subscription": "subscriptions", "user": "users", "token": "tokens",
}

// changeOf says what an event has changed.
func changeOf(e domain.Event) web.Change {
	switch e := e.(type) {
	case domain.ReadingPosted:
		return web.Change{Topic: "readings", Name: e.Device}
	case domain.DataEventAdded:
		return web.Change{Topic: "readings", Name: e.Event.Device}
	case domain.DataEventsRemoved:
		return web.Change{Topic: "readings"}
	case domain.TransmissionsResent:
		return web.Change{Topic: "transmissions"}
	case domain.TransmissionTried:
		return web.Change{Topic: "transmissions", Name: e.Transmission.NotificationID}
	}
	s := e.Subject()
	if len(s) < 2 {
		return web.Change{}
	}
	if topic, ok := topics[s[0]]; ok {
		return web.Change{Topic: topic, Name: s[1]}
	}
	return web.Change{Topic: "notifications", Name: s[1]}
}
