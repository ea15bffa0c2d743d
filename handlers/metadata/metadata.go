// Package metadata is EdgeX's core-metadata: device profiles, devices, device services, provision watchers and units of
// measure over HTTP, and the users, tokens and transparency log of Ledge.
//
// What it takes and shows is in ledge/handlers/shapes/v2; the types that end in Shape are the JSON of what only this service has.
package metadata

import (
	_ "embed"
	"net/http"
	"slices"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/handlers"
	"ledge/handlers/entities"
	v2 "ledge/handlers/shapes/v2"
)

// document describes the routes of this package; what all services share is added to it.
//
//go:embed openapi_merged.yaml
var document []byte

// service is core-metadata in one API version.
type service struct {
	*handlers.API
	state entities.Reader
	log   handlers.Submitter
	// listed are the units that device resources may have; nil: any.
	listed map[string]bool
}

// Ledger has the sources of the routes below /ledger: the logs, the past of the log of changes, its Merkle tree, and replays.
type Ledger struct {
	Past    *handlers.Past  // histories and former states are read from it
	Events  eventlog.Source // pages and streams of events are read from it
	Tree    Transparency
	Replays Replays
}

// New returns core-metadata on a state that is read with state and changed with log, its users and tokens with identities.
func New(o handlers.Options, state entities.Reader, log handlers.Submitter, identities Identities, ledger Ledger) http.Handler {
	s := handlers.NewService(o)
	api := service{API: s.API(handlers.V2), state: state, log: log, listed: newListed(o)}
	entityRoutes := slices.Concat(
		api.profileRoutes(), api.profilePartRoutes(), deviceRoutes(api, v2.OfDevice), api.serviceRoutes(), api.watcherRoutes())
	api.Serve(slices.Concat(ledger.Past.Routes(api.API, entityRoutes), api.unitRoutes(), histories{api.API, ledger.Past}.routes(),
		newEvents(api.API, ledger.Events).routes(), newTransparency(api, ledger.Tree).routes()))
	u := newUsers(api, identities)
	u.Serve(slices.Concat(u.userRoutes(), u.tokenRoutes(), histories{u.API, ledger.Past}.identityRoutes(),
		busReplays{u.API, ledger.Replays}.routes()), u.RefuseKey)
	api.RouteDocument(document)
	return s
}

// idOr returns the id that a request gave, or a new one.
func (s service) idOr(id string) string {
	if id == "" {
		return s.NewID()
	}
	return id
}

func (s service) remove(command func(name string) domain.Command) handlers.Handler {
	return handlers.Remove(s.API, s.log, "name", command)
}
