package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console"
	"ledge/store"
)

// newConsole returns the management UI on the services that have started before it.
func (p *Program) newConsole(o handlers.Options) http.Handler {
	d := p.node
	return console.New(console.Options{
		Options: o, Services: p.servers.handlers(), State: d.Changes.View, Notes: p.flushedNotes, Values: d.Readings.View,
		Changes: changeLog{d}, Users: p.identities, Tokens: p.identities, Ledger: p.newConsoleLedger(), System: p.newConsoleSystem(),
		Password: p.authenticator.Load().Password, Follow: p.followChanges, Position: p.position, TLS: p.Config.Secure,
		Interfaces: netInterfaces, Sockets: p.socketStates, PortUse: p.portUse,
		Access: p.whoMayCall(), DeviceREST: p.servers.scheme() + "://" + p.servers.address(services.DeviceREST),
	})
}

// followChanges returns a function that tells of each event that is recorded from now on, until ctx ends.
func (p *Program) followChanges(changed func(console.Change)) func(ctx context.Context) error {
	type log struct {
		*store.Appender
		name string
		last uint64
	}
	var logs []log
	for i, appender := range []*store.Appender{p.node.Changes.Appender, p.node.Notifications.Appender, p.node.Readings.Appender} {
		last, _ := p.node.Parts()[i].State.Checkpoint()
		logs = append(logs, log{appender, logNames[i], last})
	}
	return func(ctx context.Context) error {
		all, ctx := errgroup.WithContext(ctx)
		for _, l := range logs {
			all.Go(func() error {
				return l.Follow(ctx, l.last+1, func(group []domain.Recorded) error {
					for _, r := range group {
						changed(changeOf(r.Event))
					}
					changed(console.Change{Topic: "ledger", Name: l.name})
					return nil
				})
			})
		}
		return all.Wait()
	}
}

// position says how far the state is, of each log.
func (p *Program) position() string {
	var text []string
	for _, one := range p.node.Parts() {
		seq, _ := one.State.Checkpoint()
		text = append(text, strconv.FormatUint(seq, 36))
	}
	return strings.Join(text, ".")
}

// topics are what the console calls the kinds of entities in subjects of the log of changes.
var topics = map[string]string{
	"device": "devices", "profile": "profiles", "service": "services", "watcher": "watchers", "subscription": "subscriptions", "user": "users", "token": "tokens",
}

// changeOf says what an event has changed.
func changeOf(e domain.Event) console.Change {
	switch e := e.(type) {
	case domain.ReadingPosted:
		return console.Change{Topic: "readings", Name: e.Device}
	case domain.DataEventAdded:
		return console.Change{Topic: "readings", Name: e.Event.Device}
	case domain.DataEventsRemoved:
		return console.Change{Topic: "readings"}
	case domain.TransmissionTried:
		return console.Change{Topic: "transmissions", Name: e.Transmission.NotificationID}
	}
	s := e.Subject()
	if len(s) < 2 {
		return console.Change{}
	}
	if topic, ok := topics[s[0]]; ok {
		return console.Change{Topic: topic, Name: s[1]}
	}
	return console.Change{Topic: "notifications", Name: s[1]}
}

// whoMayCall tells which clients may use the REST services.
func (p *Program) whoMayCall() console.Access {
	if p.Config.Secure {
		says := "Secure mode: the REST services need a login, a token or a client certificate."
		if p.Config.Loopback != config.LoopbackSecure {
			says += fmt.Sprintf(" Programs on this machine need none: they have the role %s.", p.Config.Loopback)
		}
		return console.Access{Says: says}
	}
	var open []string
	for _, name := range []string{services.Metadata, services.Data, services.DeviceREST, services.Notifications} {
		at := p.servers.address(name)
		if a, err := netip.ParseAddrPort(at); err == nil && !a.Addr().Unmap().IsLoopback() {
			open = append(open, name+" at "+at)
		}
	}
	who := "Every program on this machine"
	if len(open) > 0 {
		who = "Everybody who reaches " + strings.Join(open, ", ")
	}
	return console.Access{Open: true, Says: "The API is open: it needs no login. " + who + " may read and change everything."}
}
