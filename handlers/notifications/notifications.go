// Package notifications is EdgeX's support-notifications: subscriptions and notifications over HTTP.
//
// Subscriptions and notifications are on different streams, each with a state of its own. Of a notification the JSON
// shows what EdgeX 2.3 shows; what Ledge keeps beside that stays inside.
package notifications

import (
	_ "embed"
	"net/http"
	"slices"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
)

// document describes the routes of this package; what all services share is added to it.
//
//go:embed openapi_merged.yaml
var document []byte

// Channels binds the sockets of ZeroMQ channels before the subscription that asks for them is recorded, so that an
// address that cannot be had is the subscription's error and not the first notification's.
type Channels interface {
	// Reserve holds the channels until done is called: with the sequence at which the subscription was recorded, or
	// with 0 where it was not. An address that is taken or unknown is an Error.
	Reserve(channels []domain.Channel) (done func(seq uint64), err error)
	// ServerKey is the public key of CURVE that subscribers of channels with client keys need, in Z85. Empty: there is none.
	ServerKey() string
}

type service struct {
	*handlers.API
	// subscriptions and notifications read the states of the two streams; events and notices change them.
	subscriptions, notifications entities.Reader
	events, notices              handlers.Submitter
	channels                     Channels
	replays                      Replays
	deliveries                   Deliveries
}

// New returns support-notifications. subscriptions and events are the stream that has the subscriptions, with its past,
// notifications and notices the one that has the notifications.
func New(
	o handlers.Options, subscriptions entities.Reader, events handlers.Submitter, past *handlers.Past,
	notifications entities.Reader, notices handlers.Submitter, channels Channels, replays Replays,
	deliveries Deliveries,
) http.Handler {
	s := handlers.NewService(o)
	v2 := service{
		API: s.API(handlers.V2), subscriptions: subscriptions, events: events,
		notifications: notifications, notices: notices, channels: channels, replays: replays, deliveries: deliveries,
	}
	v2.Serve(slices.Concat(past.Routes(v2.API, v2.subscriptionRoutes()), replayOrderRoutes(v2), v2.endpointRoutes(),
		v2.notificationRoutes(), v2.removalRoutes(), v2.transmissionRoutes()))
	v2.RouteDocument(document)
	return s
}

// idOr returns the id that a request gave, or a new one.
func (s service) idOr(id string) string {
	if id == "" {
		return s.NewID()
	}
	return id
}
