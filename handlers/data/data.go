// Package data is EdgeX's core-data: events with their readings over HTTP, those that device services post and those that
// were posted to device-rest.
//
// A value that is short is in the state. Any other is on the log, or is a payload beside it; it is never in the state,
// and only one at a time is in memory: answers are written as they are read. Other than EdgeX 2.3, which empties them, core-data
// gives binary values back. DESIGN.md says how.
package data

import (
	"cmp"
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

// Payloads keeps values that are too long for the log, by the hex SHA-256 of their content.
type Payloads interface {
	// Put reads r to its end, or fails with r's error and keeps nothing; size is in bytes. A value of more than limit
	// bytes is an error. What is kept is held until it is released as often as it was put.
	Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	// Release ends the hold of one Put; used says that there is a reading that refers to it.
	Release(digest string, used bool)
	// Get opens a value; fs.ErrNotExist where there is none.
	Get(digest string) (io.ReadSeekCloser, error)
}

// EventAt returns the event at a sequence of the log; ok is false where retention has removed it.
type EventAt func(ctx context.Context, seq uint64) (e domain.Event, ok bool, err error)

type service struct {
	*handlers.API
	state    entities.Reader
	log      handlers.Submitter
	events   EventAt
	payloads Payloads
}

// eventBytes bounds a posted event: a Binary of 16 MiB in base64, and its other readings. EdgeX's MaxEventSize is 25,000 KB.
const eventBytes = 24 << 20

// New returns core-data: what is on record is read with state and, the longer values, with events; log changes it.
func New(o handlers.Options, state entities.Reader, log handlers.Submitter, events EventAt, payloads Payloads) http.Handler {
	o.BodyBytes = cmp.Or(o.BodyBytes, eventBytes)
	s := handlers.NewService(o)
	v2 := service{API: s.API(handlers.V2), state: state, log: log, events: events, payloads: payloads}
	v2.Serve(slices.Concat(v2.eventRoutes(), v2.readingRoutes(), newAggregates(v2).aggregateRoutes()))
	v2.RouteDocument(document)
	return s
}
