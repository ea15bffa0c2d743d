// Package devicerest is EdgeX's device-rest: third parties post values, binary ones among them, to the resources of
// the devices of this service.
//
// Posting is what it differs in from other device services: commands, which read from devices and write to them, are
// answered as in EdgeX 2.3 and never carried out, and callbacks have nothing to tell, since core-metadata is in the same
// program. What the resource route says is plain text, as in EdgeX 2.3. A value of at most Options.InlineBytes is held in
// memory; a longer one is streamed to [Payloads], and only its digest goes through the log. A long value that must be a
// JSON object is checked on the way.
//
// [domain.ReadValue] makes the reading's value of the body. A value that fails its resource's assertion takes the device
// DOWN, as with EdgeX's device SDK.
//
// EdgeX answers 200 before the value is published anywhere; here 200 means that it is on record.
package devicerest

import (
	"context"
	_ "embed"
	"io"
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

// Payloads keeps values that are too long for the log. Put reads r to its end, or fails with r's error and keeps
// nothing; size is in bytes, digest is the hex SHA-256. A value of more than limit bytes is an error. What was put is held
// until it is released, when it is certain whether a reading refers to it.
type Payloads interface {
	Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	Release(digest string, used bool)
}

type service struct {
	*handlers.API
	state    entities.Reader
	events   handlers.Submitter // of the devices
	readings handlers.Submitter
	payloads Payloads
}

// New returns device-rest: devices and profiles are read with state and changed with events, readings are recorded with
// readings.
func New(o handlers.Options, state entities.Reader, events, readings handlers.Submitter, payloads Payloads) http.Handler {
	s := handlers.NewService(o)
	v2 := service{API: s.API(handlers.V2), state: state, events: events, readings: readings, payloads: payloads}
	v2.Serve(slices.Concat(v2.deviceRoutes(), v2.callbackRoutes()))
	v2.RouteDocument(document)
	return s
}

// deviceRoutes are the routes of values and of commands. Commands, which read from devices and write to them, are refused. A command is
// checked in the order of EdgeX's SDK, so that a client learns first what it can mend.
func (s service) deviceRoutes() []handlers.Route {
	return []handlers.Route{
		{Method: "POST", Path: "/resource/:device/:resource", Right: domain.MayPost, Device: "device", Streamed: true, Handle: s.postValue},
		{Method: "GET", Path: "/device/name/:name/:command", Right: domain.MayServe, Handle: s.getCommand},
		{Method: "PUT", Path: "/device/name/:name/:command", Right: domain.MayServe, Handle: s.putCommand},
		{Method: "POST", Path: "/discovery", Right: domain.MayChange, Handle: s.discover},
	}
}
