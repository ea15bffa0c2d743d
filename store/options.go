package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"ledge/domain"
	"ledge/store/osfile"
)

// Checkpoint is a sequence that was durable on a log, with its chain hash: the last event that a projection has applied.
type Checkpoint struct {
	Seq   uint64
	Chain [32]byte
}

// Options configures [Open]. Only Dir is required.
type Options struct {
	// Dir is the folder of the server's store; it is made where it is missing.
	Dir string
	// TapHost and TapPort are where taps connect after ListenForTaps. The default host is 127.0.0.1; port 0 is any free one, -1 is none.
	TapHost string
	TapPort int
	// TapConnections is the most connections of taps at a time, half of them from one address; the default is 64.
	TapConnections int
	// TapDescriptors is how many descriptors all connections of NATS clients may have together; 0 is no limit.
	TapDescriptors int
	// TapMemory is the most that waits in memory for all NATS clients together, in bytes; the default is 64 MiB.
	TapMemory int64
	// TLS has taps use TLS: NATS clients upgrade after the server's first line, without application protocols. nil is none.
	TLS *tls.Config
	// Login tells who a client of the tap is, by the user and password or by the token that it sends; address is its IP address. The error of
	// a refusal is a domain.Error. nil is open mode: nobody logs in.
	Login func(ctx context.Context, user, password, token, address string) (domain.Identity, error)
	// Still reports whether an identity that has logged in is what it was then: its user or token was not removed or changed, and it has not expired.
	// It must be quick. nil is always. See [Store.RecheckTaps].
	Still func(domain.Identity) bool
	// ReserveBytes of free disk are left alone: appends that would touch them are refused with domain.Full. The default
	// is 64 MiB; readings leave ReadingsReserveBytes, four times as much by default, so that they fill up first.
	ReserveBytes, ReadingsReserveBytes int64
	// Checkpoints are the checkpoints of the projections, by the names of the streams. A log that ends before its checkpoint, or
	// has another event there, is damaged.
	Checkpoints map[string]Checkpoint
	// ArchiveDir is where archives of the log of changes are; SnapshotDir has the snapshots that belong to them. Empty: none.
	ArchiveDir, SnapshotDir string
	// Logger receives what the server and the store report; nil is slog.Default.
	Logger *slog.Logger

	// FreeBytes tells the free disk space at dir, in bytes; nil asks the operating system. A point of failure for tests.
	FreeBytes func(dir string) (uint64, error)
	// AckTimeout is how long the server may keep silent while acknowledgements are due before a warning; a server that says that it is
	// well is waited for 12 times as long. The default is 5 s.
	AckTimeout time.Duration

	streamDir func(dir, name string) string // where the server is known to keep a stream; another one in tests
}

// secured reports whether taps need TLS or an identity.
func (o Options) secured() bool { return o.TLS != nil || o.Login != nil }

func (o Options) withDefaults() Options {
	o.TapHost = cmp.Or(o.TapHost, "127.0.0.1")
	o.TapConnections = cmp.Or(o.TapConnections, 64)
	o.TapMemory = cmp.Or(o.TapMemory, 64<<20)
	o.ReserveBytes = cmp.Or(o.ReserveBytes, 64<<20)
	o.ReadingsReserveBytes = cmp.Or(o.ReadingsReserveBytes, 4*o.ReserveBytes)
	o.AckTimeout = cmp.Or(o.AckTimeout, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.FreeBytes == nil {
		o.FreeBytes = osfile.FreeBytes
	}
	if o.streamDir == nil {
		o.streamDir = streamDir
	}
	if o.Still == nil {
		o.Still = func(domain.Identity) bool { return true }
	}
	return o
}

// removalShare is the part of the reserve of changes that removals leave alone: they are small, and who may not remove
// anything gets no room back.
const removalShare = 4

// reserve is how many bytes of the disk the events of a stream leave free.
func (o Options) reserve(st stream) int64 {
	if st.name == ReadingsStream {
		return o.ReadingsReserveBytes
	}
	return o.ReserveBytes
}

// reserveOf is how many bytes an event on a stream must leave free.
func (o Options) reserveOf(st stream, e domain.Event) int64 {
	if domain.MakesRoom(e) {
		return o.ReserveBytes / removalShare
	}
	return o.reserve(st)
}

// full is the refusal of an event on a stream when the reserve is reached.
func (o Options) full(st stream, what string) *domain.Error {
	return domain.Errorf(domain.Full, "the disk is full: %s; the reserve in %s is %d bytes (setting disk-reserve, four times that for readings): free some space or lower it", what, o.Dir, o.reserve(st))
}
