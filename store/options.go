package store

import (
	"cmp"
	"log/slog"
	"time"

	"ledge/domain"
	"ledge/store/osfile"
)

// Checkpoint is a sequence that was durable on a log, with its chain hash: the last event that a projection has applied.
type Checkpoint struct {
	Seq   uint64
	Chain [32]byte
	// First is the first event that the projection has something of, which counts if the manifest is missing; 0 if that is not known.
	First uint64
}

// Options configures [Open]. Only Dir is required.
type Options struct {
	// Dir is the folder of the server's store; it is made where it is missing.
	Dir string
	// ReserveBytes of free disk are left alone: appends that would touch them are refused with domain.Full. The default
	// is 64 MiB; readings leave ReadingsReserveBytes, four times as much by default, so that they fill up first.
	ReserveBytes, ReadingsReserveBytes int64
	// Checkpoints are the checkpoints of the projections, by the names of the streams. A log that ends before its checkpoint, or
	// has another event there, is damaged.
	Checkpoints map[string]Checkpoint
	// Follows is the last event of the log of changes that a notification or a callback followed. A log that ends before is damaged.
	Follows uint64
	// Nodes are the ids of the nodes that have written other files, by their names. They are damaged if the manifests have another id.
	Nodes map[string]string
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

func (o Options) withDefaults() Options {
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
	return domain.Errorf(domain.Full, "the disk is full: %s; the reserve in %s is %d bytes (setting disk-reserve, four times that for readings): free some space, lower it, or raise max-bytes if it is set", what, o.Dir, o.reserve(st))
}
