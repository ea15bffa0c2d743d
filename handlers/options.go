package handlers

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"ledge/domain"
)

// Submitter has commands decided and recorded. Outcomes are in the order of the requests, one for each; the error is
// for what struck all of them, and then nothing is known to be recorded.
type Submitter interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
}

// Reader opens one consistent look at the state; the function that it returns closes it.
type Reader func() (domain.View, func())

// Options configure a service. A limit that is zero takes its default. The settings are those of the program, as
// messages name them.
type Options struct {
	// Service is the EdgeX name of the service, as shown by ping: core-metadata, device-rest, support-notifications.
	Service string
	// Version is the program's version, as shown by GET /version.
	Version string
	// Config returns what GET /config shows; it must hold no secrets.
	Config func() any
	Logger *slog.Logger
	// Now is the clock of commands; NewID makes UUIDs for events, entities and correlation.
	Now   func() time.Time
	NewID func() string

	// BodyBytes bounds a JSON body (16 MiB; setting limit-json-bytes), UploadBytes an uploaded profile file (1 MiB;
	// setting limit-profile-bytes), ResourceBytes a value that is posted to a resource (16 MiB, as in EdgeX 2.3; setting
	// limit-resource-bytes).
	BodyBytes, UploadBytes, ResourceBytes int64
	// InlineBytes is the longest value that is loaded into memory and kept on the log itself (256 KiB; setting
	// limit-inline-bytes).
	InlineBytes int64
	// BatchElements bounds the elements of one JSON array (10,000; setting limit-batch), ElementBytes the text of each
	// of them (4 MiB, which leaves room for the longest content of a notification and its escapes).
	BatchElements int
	ElementBytes  int64
	// MaxResults is the most entries of one page (1024, MaxResultCount in EdgeX).
	MaxResults int
	// BodyTimeout is how long a request's body may take to arrive (30 s; setting limit-read-time); what is slower is
	// answered with 503.
	BodyTimeout time.Duration
	// WriteTimeout is how long a client may take to read its answer (30 s; setting limit-write-time); one that is slower
	// is cut off.
	WriteTimeout time.Duration
	// BodiesInFlight is how many requests with a body are served at a time (1024; setting limit-requests); one more is
	// answered with 503.
	BodiesInFlight int
	// BodyMemory bounds the bytes of all bodies that are loaded at a time (128 MiB; setting limit-body-memory); what would
	// pass it is answered with 503. A body without a declared length counts as the longest allowed. In a JSON array each
	// entry of a list or an object counts entryBytes beside its text.
	BodyMemory int64
	// Streams says that no more than InlineBytes of a body are loaded.
	Streams bool
}

func (o Options) withDefaults() Options {
	setDefault(&o.BodyBytes, 16<<20)
	setDefault(&o.UploadBytes, 1<<20)
	setDefault(&o.ResourceBytes, 16<<20)
	setDefault(&o.InlineBytes, 256<<10)
	setDefault(&o.BatchElements, 10_000)
	setDefault(&o.ElementBytes, 4<<20)
	setDefault(&o.MaxResults, 1024)
	setDefault(&o.BodyTimeout, 30*time.Second)
	setDefault(&o.WriteTimeout, 30*time.Second)
	setDefault(&o.BodiesInFlight, 1024)
	setDefault(&o.BodyMemory, 128<<20)
	if o.Config == nil {
		o.Config = func() any { return struct{}{} }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	return o
}

func setDefault[T ~int | ~int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// newID makes a version 7 UUID: ids made later sort later, which keeps tables that are keyed by id dense.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
