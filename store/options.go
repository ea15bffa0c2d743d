package store

import (
	"cmp"
	"log/slog"
	"time"
)

// Options configures [Open]. Only Dir is required.
type Options struct {
	// Dir is the folder of the server's store; it is made where it is missing.
	Dir string
	// SyncAlways lets the server fsync every message by itself instead of the one fsync for a group.
	SyncAlways bool
	// TapHost and TapPort are where taps connect. The default host is 127.0.0.1; port 0 is any free one, -1 is none.
	TapHost string
	TapPort int
	// TapConnections is the most connections of taps at a time; the default is 256.
	TapConnections int
	// ReserveBytes of free disk are left alone: appends that would touch them are refused with domain.Full. The default
	// is 64 MiB; readings leave ReadingsReserveBytes, four times as much by default, so that they fill up first.
	ReserveBytes, ReadingsReserveBytes int64
	// The age and bytes are what the streams keep; 0 is without a limit.
	ReadingsMaxAge                          time.Duration
	NotificationsMaxBytes, ReadingsMaxBytes int64
	// Logger receives what the server and the store report; nil is slog.Default.
	Logger *slog.Logger

	// FreeBytes tells the free disk space at dir, in bytes; nil asks the operating system. A point of failure for tests.
	FreeBytes func(dir string) (uint64, error)
	// AckTimeout is how long the server may keep silent while acknowledgements are due before the write counts as failed;
	// the default is 5 s.
	AckTimeout time.Duration
}

func (o Options) withDefaults() Options {
	o.TapHost = cmp.Or(o.TapHost, "127.0.0.1")
	o.TapConnections = cmp.Or(o.TapConnections, 256)
	o.ReserveBytes = cmp.Or(o.ReserveBytes, 64<<20)
	o.ReadingsReserveBytes = cmp.Or(o.ReadingsReserveBytes, 4*o.ReserveBytes)
	o.AckTimeout = cmp.Or(o.AckTimeout, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.FreeBytes == nil {
		o.FreeBytes = FreeBytes
	}
	return o
}
