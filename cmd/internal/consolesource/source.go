// Package consolesource tells the console of the program: its state and logs, changes, settings, disk and sockets.
package consolesource

import (
	"context"
	"log/slog"
	"net/http"

	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/check"
	"ledge/cmd/internal/identities"
	"ledge/cmd/internal/metrics"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console"
	"ledge/handlers/console/limits"
	"ledge/handlers/console/web"
)

// Options wire the console.
type Options struct {
	Node       *node.Node
	Channels   *channels.Channels
	Meters     *metrics.Meters
	Identities *identities.Identities
	Verifier   *check.Verifier
	Services   map[string]http.Handler // the REST services that the console calls, by name
	Password   func(ctx context.Context, user, password, address string) (domain.Identity, error)
	Settings   func() []console.Setting
	Ready      func(service string) error // returns why a service refuses requests
	Warnings   func() []string            // returns warnings for an operator
	Refusals   console.Refusals           // of EdgeX's message bus
	Limits     func() console.Disk        // of the stored data; the other fields are empty
	Retention  limits.Source              // sets these limits
	Access     console.Access             // which clients may use the REST services
	DeviceREST string                     // URL of the REST device service
	TLS        bool
	DataDir    string
	NodeName   string // for people
	Cookie     string // ends the name of the session's cookie
	Version    string
	Logger     *slog.Logger
}

// Source tells the console of the program.
type Source struct {
	Options
	ledger *ledger
	rates  rates
}

// New returns a source. Call Run beside the console, and Close at the end.
func New(o Options) *Source {
	return &Source{Options: o, ledger: newLedger(o.Node, o.Verifier)}
}

// Handler returns the management UI.
func (s *Source) Handler(o handlers.Options) http.Handler {
	d := s.Node
	return console.New(console.Options{
		Options: web.Options{
			Options: o, Services: s.Services, Password: s.Password, Follow: s.followChanges, Position: s.position, TLS: s.TLS,
			Node: s.NodeName, Cookie: s.Cookie,
		},
		State: d.Changes.View, Notes: s.Channels.ViewFlushed, Values: d.Readings.View,
		Changes: d.ChangeLog(), Users: s.Identities, Tokens: s.Identities, Ledger: s.ledger, System: system{s},
		Network:  console.Network{Interfaces: netInterfaces, Sockets: s.socketStates, PortUse: s.portUse},
		Refusals: s.Refusals, Retention: s.Retention, Access: s.Access, DeviceREST: s.DeviceREST,
	})
}

// Close ends the console's work.
func (s *Source) Close() { s.ledger.close() }

// system is the program as the console sees it.
type system struct{ *Source }

// Settings implements console.System.
func (s system) Settings() []console.Setting { return s.Options.Settings() }
