// Package console is the management UI: pages for operators on port 9090, behind a login.
//
// Pages are rendered on the server. Each has one file here and one of the same name below templates. The pages of one kind of entity are
// a type with a table of routes, which has the right that each route needs, or a description ([web.Entity], [web.Inputs]). Package web is
// their kit: it routes, renders and has the login.
// htmx loads pages without a reload of the document. Every page and form also works without scripts.
// The open pages of a browser get changes over one stream, /live, and load the parts that show them anew.
//
// A page reads the state as the REST services do, through [entities.Reader]. It changes nothing by itself: it sends the request that any
// client would send to the REST service, in process and in the user's name ([web.Site.Call]). So the checks, the messages, the rights and
// the events are those of the API.
package console

import (
	"context"
	"embed"
	"fmt"
	"html"
	"net/http"

	"ledge/domain"
	"ledge/handlers/console/charts"
	"ledge/handlers/console/devicesearch"
	"ledge/handlers/console/jump"
	"ledge/handlers/console/limits"
	"ledge/handlers/console/silence"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
	"ledge/handlers/startup"
)

//go:embed templates
var templates embed.FS

// Options configure the console. New sets the embedded Accounts, Topics, Menu and Templates.
type Options struct {
	web.Options

	// State, Notes and Values read entities, notifications and readings.
	State, Notes, Values entities.Reader
	// Changes reads the log of changes.
	Changes Changes
	// Users are the users that may log in, Tokens the tokens of programs.
	Users  Users
	Tokens Tokens
	// Ledger is the log, System the program itself.
	Ledger Ledger
	System System
	// Network has the interfaces and ports for ZeroMQ channels.
	Network Network
	// Retention sets the limits of retention.
	Retention limits.Source
	// Access tells which clients may use the REST services.
	Access Access
	// Refusals are the refused events of EdgeX's message bus.
	Refusals Refusals
	// DeviceREST is the URL at which device-rest listens; its host may be that of all interfaces.
	DeviceREST string
}

// Changes is the log of changes of devices, profiles and the other entities in State.
type Changes interface {
	// Last is the sequence of the last event that State shows.
	Last() uint64
	// At returns the event at a sequence; ok is false if it is in an archive, or is not there.
	At(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error)
	// Read calls f with the events from one sequence to another, both included.
	Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error
}

// Users changes users and tokens; actor is the user that asks. Errors are domain Errors.
type Users interface {
	web.Accounts
	Users() ([]domain.User, error)
	AddUser(ctx context.Context, actor, name string, role domain.Role, password string, mustChange bool) error
	SetRole(ctx context.Context, actor, name string, role domain.Role) error
	RemoveUser(ctx context.Context, actor, name string) error
}

// Console serves the pages.
type Console struct {
	site    *web.Site
	listing *devicesearch.Index
	silent  *silence.Finder
}

// New returns the console. Close ends it.
func New(o Options) *Console {
	o.Accounts, o.Topics, o.Menu, o.Templates = o.Users, Topics, menu, templates
	site, listing := web.New(o.Options), devicesearch.New(o.State, o.Changes)
	silent := silence.New(o.State, o.Values, site.Now)
	reader, history := devices{site, o.State}, history{o.Changes, o.State}
	histories := historyPages{site, history}
	values, tags := values{site, o.Values}, tags{site, o.State, o.Notes}
	for _, pages := range []interface{ Routes() []web.Route }{
		overviewPage{site, o.State, o.Notes, o.System, o.Ledger, silent},
		deviceList{reader, values, listing, silent},
		devicePage{reader, values, history, o.DeviceREST},
		deviceForms{reader, values},
		deviceImport{reader},
		histories,
		restorePages{histories},
		deviceCommands{reader, history, site.Now()},
		charts.New(site, o.State, o.Values),
		readingPages{values, o.Refusals},
		refusedPage{site, o.Refusals},
		profilePages{site, o.State},
		newServicePages(site, o.State, o.System),
		newWatcherPages(site, o.State, o.System),
		subscriptionPages{tags, o.System, o.Network, o.Changes},
		subscriptionForms{tags, o.Network},
		notificationPages{tags, o.Changes, o.System},
		ledgerPages{site, o.Ledger},
		userPages{site, o.Users, o.Tokens, o.Access.Open, o.State},
		systemPages{site, o.System, o.Ledger, o.Access},
		limits.Pages{Site: site, Source: o.Retention},
		jump.Pages{Site: site, State: o.State, Devices: listing},
	} {
		for _, r := range pages.Routes() {
			site.Serve(histories.withRemoved(r))
		}
	}
	return &Console{site, listing, silent}
}

// Close ends the live connections.
func (s *Console) Close() {
	s.site.Close()
	s.silent.Close()
	s.listing.Drop()
}

// ServeHTTP implements http.Handler.
func (s *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.site.ServeHTTP(w, r) }

// Routes lists the routes, such as "GET /devices/:name", with the right that each needs.
func (s *Console) Routes() map[string]domain.Right {
	all := map[string]domain.Right{}
	for _, r := range s.site.Routes() {
		all[r.Method+" "+r.Path] = r.Right
	}
	return all
}

// menu lists the pages, with the right that each needs.
var menu = []web.MenuItem{
	{Path: "/", Label: "Overview", Icon: "overview", Right: domain.MayRead},
	{Path: "/devices", Label: "Devices", Icon: "devices", Group: groupDevices, Right: domain.MayRead},
	{Path: "/readings", Label: "Readings", Icon: "readings", Group: groupDevices, Right: domain.MayRead},
	{Path: "/profiles", Label: "Profiles", Icon: "profiles", Group: groupDevices, Right: domain.MayRead},
	{Path: "/services", Label: "Services", Icon: "services", Group: groupDevices, Right: domain.MayRead},
	{Path: "/watchers", Label: "Watchers", Icon: "watchers", Group: groupDevices, Right: domain.MayRead},
	{Path: "/subscriptions", Label: "Subscriptions", Icon: "subscriptions", Group: groupMessages, Right: domain.MayRead},
	{Path: "/notifications", Label: "Notifications", Icon: "notifications", Group: groupMessages, Right: domain.MayRead},
	{Path: "/ledger", Label: "Ledger", Icon: "ledger", Group: groupNode, Right: domain.MayAudit},
	{Path: "/users", Label: "Users", Icon: "users", Group: groupNode, Right: domain.MayAdminister},
	{Path: "/system", Label: "System", Icon: "system", Group: groupNode, Right: domain.MayRead},
	{Path: "/system/retention", Label: "Retention", Icon: "retention", Group: groupNode, Right: domain.MayAdminister},
}

// The groups of the menu.
const (
	groupDevices  = "Devices and data"
	groupMessages = "Messages"
	groupNode     = "This node"
)

// The services that the console calls.
const (
	metadataService      = "core-metadata"
	dataService          = "core-data"
	commandService       = "core-command"
	deviceRESTService    = "device-rest"
	notificationsService = "support-notifications"
)

// Topics are the topics of changes.
var Topics = []string{
	"devices", "profiles", "services", "watchers", "subscriptions", "notifications", "transmissions", "readings", "users", "tokens", "ledger",
}

// Starting answers every request with a page that says that the program is starting, and that loads itself again. progress returns how far
// the start has come; "" says nothing.
func Starting(progress func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", web.Policy)
		text := fmt.Appendf(nil, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="%s">
<title>Ledge is starting</title></head>
<body><h1>Ledge is starting</h1><p>%s</p><p>This page loads itself again.</p></body></html>
`, startup.Again, html.EscapeString(progress()))
		startup.Write(w, r, "text/html; charset=utf-8", text)
	})
}
