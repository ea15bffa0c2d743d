package handlers

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"ledge/domain"
	"ledge/handlers/access"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
	"ledge/handlers/lookups"
	"ledge/handlers/quota"
)

// Submitter has commands decided and recorded. Outcomes are in the order of the requests, one for each; the error is
// for what struck all of them, and then nothing is known to be recorded. Only where an error is domain.InDoubt may the change be
// on record; then the log takes nothing more until the next start.
type Submitter interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
}

// DeviceServices are the device services other than ours.
type DeviceServices interface {
	// IsCalled reports whether device services of a name are called: all but device-rest, and that one too if another program has
	// registered its address.
	IsCalled(name string) bool
	// CheckAddress returns why no device service may be called at a base address, for the client that wants it so.
	CheckAddress(base string) error
	// ValidateDevice asks the device service s whether it takes device d as it is to be, unless s is ours. The error is the answer to the
	// client; CorrelationID is the one of the request.
	ValidateDevice(ctx context.Context, s domain.DeviceService, d domain.Device, correlationID string) error
}

// Options configure a service. Limits of zero are the documented defaults.
type Options struct {
	// Service is the EdgeX name of the service, as shown by ping: core-metadata, device-rest, support-notifications.
	Service string
	// APIVersion is what answers carry and requests must: V2. An [API] has its own.
	APIVersion string
	// Addresses are the URLs of all services, by their EdgeX names, and Others returns the services: a client at the wrong one is told.
	// Nil: it is not.
	Addresses map[string]string
	Others    func() map[string]http.Handler
	// Instance is the id of this run among the domain.Hops of a request; empty: loops are not looked for.
	Instance string
	// Version is the version of Ledge. GET /version shows it beside EdgeXVersion.
	Version string
	// DeviceService has GET /version show sdk_version too, as EdgeX's device services do.
	DeviceService bool
	// Config returns what GET /config shows; it must hold no secrets. nil: nothing.
	Config func() any
	// Ready returns why the service refuses what is sent to it, as GET /health answers; nil: it never does.
	Ready func() error
	// Warnings returns what GET /health tells the operator of a service that works; nil: nothing.
	Warnings func() []string
	// Storage returns what GET /metrics shows beside EdgeX's numbers; nil: nothing.
	Storage func() any
	// Swept returns when no cleanup of a kind goes on, and when it has waited for long enough; nil: nothing is waited for.
	Swept func(ctx context.Context, kind string)
	// Logger discards where it is nil.
	Logger *slog.Logger
	// Now is the clock of commands; NewID makes UUIDs for events, entities and correlation. nil: the real ones.
	Now   func() time.Time
	NewID func() string

	// BodyBytes bounds a JSON body: 16 MiB, and twice as much for profiles. UploadBytes bounds an uploaded profile file: 8 MiB.
	// ResourceBytes bounds a value that is posted to a resource without the attribute maxBodyBytes: 256 MiB.
	BodyBytes, UploadBytes, ResourceBytes int64
	// InlineBytes is the longest value that is loaded into memory and kept on the log itself: 256 KiB. A NATS message has at most
	// 512 KiB.
	InlineBytes int64
	// ElementBytes bounds one element of a JSON array, or a body that is one object: 4 MiB.
	ElementBytes int
	// BatchElements bounds the elements of one JSON array: 10,000.
	BatchElements int
	// MaxResults is how many entries of a list one answer may have (setting max-result-count).
	MaxResults int
	// BodyTimeout and BodyRate say how slowly a request's body may arrive: in each BodyTimeout (30 s)
	// there must be as many bytes as BodyRate, in bytes a second, makes of that time (8 KiB a second), or the end
	// of the body. What is slower is answered with 503.
	BodyTimeout time.Duration
	BodyRate    int64
	// WriteTimeout is how long a client may take to read its answer, or a part of a long one: 30 s. One that
	// is slower is cut off.
	WriteTimeout time.Duration
	// BodiesInFlight is how many requests with a body are served at a time, 2,048, shared between clients
	// as a [quota.Quota] is; one more is answered with 503.
	BodiesInFlight int
	// BodyMemory bounds the bytes of all bodies that are loaded at a time, 96 MiB, shared between clients
	// as a [quota.Quota] is; what would pass it is answered with 503. A body counts as it arrives. In a JSON array each entry of
	// a list or an object counts entryBytes beside its text. It is LeastBodyMemory or more.
	BodyMemory int64
	// Memory is the quota of BodyMemory, which services may share; nil: the service has its own.
	Memory *quota.Quota
	// StrictProfileChanges refuses to replace device profiles and to take parts of them away, StrictProfileDeletes to
	// delete them, with 423 (setting strict-profiles).
	StrictProfileChanges, StrictProfileDeletes bool
	// DefaultProtocol is the protocolName of devices of device-rest that are posted without one; "" refuses them (setting
	// default-protocol).
	DefaultProtocol string
	// Units are the units of measure. ValidateUnits refuses device resources with units that are not among them, with 400
	// (setting units-file).
	Units         domain.UnitsOfMeasure
	ValidateUnits bool
	// Devices is asked before a device or a device service is added or changed. nil: nobody is.
	Devices DeviceServices
	// Names finds the addresses of hosts where sockets are bound; nil where none are.
	Names lookups.Names
	// IdempotencyKeep is how long the answer to a request with an Idempotency-Key is remembered
	// (IdempotencyKeep), IdempotencyAnswers how many answers to elements of such requests there may be in each stream
	// (200,000); one more is answered with 503.
	IdempotencyKeep    time.Duration
	IdempotencyAnswers int
	// Secrets keeps what is posted to /secret, in a body of at most SecretBytes (256 KiB); nil: there
	// is no such path.
	Secrets     Secrets
	SecretBytes int64
	// Observe is told of each request that was answered. It must be quick. nil: nothing is measured.
	Observe func(Served)
	// Access says who may send which requests; nil: everybody may send all, and there is no login.
	Access *access.Access

	unknown *bodies.UnknownBodies
}

// IdempotencyKeep is how long the answer to a request with an Idempotency-Key is remembered by default. A day is longer than a client
// repeats a request, and the answers of a day fit into the table.
const IdempotencyKeep = 24 * time.Hour

// WithDefaults fills in what is not set.
func (o Options) WithDefaults() Options {
	o.APIVersion = cmp.Or(o.APIVersion, V2)
	if o.Others == nil {
		o.Others = func() map[string]http.Handler { return nil }
	}
	if o.Config == nil {
		o.Config = func() any { return struct{}{} }
	}
	if o.Warnings == nil {
		o.Warnings = func() []string { return nil }
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Storage == nil {
		o.Storage = func() any { return nil }
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
	if o.unknown == nil {
		o.unknown = &bodies.UnknownBodies{}
	}
	o.BodyBytes = cmp.Or(o.BodyBytes, 16<<20)          // three times the JSON of 10,000 ordinary devices
	o.UploadBytes = cmp.Or(o.UploadBytes, 8<<20)       // a profile of 10,000 resources with all their keys
	o.ResourceBytes = cmp.Or(o.ResourceBytes, 256<<20) // a firmware image or a short video; it is streamed to a file
	o.InlineBytes = cmp.Or(o.InlineBytes, 256<<10)     // a picture of a camera; a NATS message has at most twice as much
	o.BodyMemory = cmp.Or(o.BodyMemory, 96<<20)        // six of the largest bodies, on a gateway with 1 GiB
	if o.Memory == nil {
		o.Memory = quota.New(o.BodyMemory)
	}
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 30*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.IdempotencyKeep = cmp.Or(o.IdempotencyKeep, IdempotencyKeep)
	o.BatchElements = cmp.Or(o.BatchElements, 10_000)
	o.ElementBytes = cmp.Or(o.ElementBytes, 4<<20) // room for the longest content of a notification and its escapes
	o.BodyRate = cmp.Or(o.BodyRate, 8<<10)
	o.BodiesInFlight = cmp.Or(o.BodiesInFlight, 2048)
	o.IdempotencyAnswers = cmp.Or(o.IdempotencyAnswers, 200_000)
	o.SecretBytes = cmp.Or(o.SecretBytes, 256<<10)
	return o
}

// pace returns how slowly clients may send and read.
func (o *Options) pace() bodies.Pace {
	return bodies.Pace{Timeout: o.BodyTimeout, Rate: o.BodyRate, WriteTimeout: o.WriteTimeout}
}

// NewBodies returns the bodies of a service, within the BodiesInFlight and the BodyMemory of its options.
func NewBodies(o Options) *bodies.Bodies {
	o = o.WithDefaults()
	return bodies.New(o.BodiesInFlight, o.Memory, o.BodyMemory, o.pace())
}

// NewAnswers returns the memory of a service for large entities and values: two thirds of the memory for bodies. An answer waits for it as
// long as for a client that reads.
func NewAnswers(o Options) *answers.Shared {
	o = o.WithDefaults()
	return answers.New(max(o.BodyMemory/3*2, 1), o.WriteTimeout)
}

// Randomness is read for several ids at once. That it is in memory before is harmless: ids are not secrets.
func init() { uuid.EnableRandPool() }

// newID makes a version 7 UUID: ids made later sort later, which keeps tables that are keyed by id dense.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
