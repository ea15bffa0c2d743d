package store

import "time"

const (
	accountName  = "LEDGE"
	appendPrefix = "ledge.append."
	directGet    = "$JS.API.DIRECT.GET."
	streamAPI    = "$JS.API.STREAM."
)

// stream is one of the three streams as it is meant to be.
type stream struct {
	name string
	// public is the prefix under which taps see the events, ingest the private one under which they are appended.
	public, ingest string
	// forever: nothing is ever removed, so the first sequence is 1.
	forever bool
}

var streams = []stream{
	{name: "LEDGE_EVENTS", public: "ledge.event.", ingest: appendPrefix + "event.", forever: true},
	{name: "LEDGE_NOTIFICATIONS", public: "ledge.notification.", ingest: appendPrefix + "notification."},
	{name: "LEDGE_READINGS", public: "ledge.reading.", ingest: appendPrefix + "reading."},
}

// retention is what a stream keeps; 0 is without a limit.
type retention struct {
	age   time.Duration
	bytes int64
}

func (o Options) retention(st stream) retention {
	switch st.name {
	case "LEDGE_NOTIFICATIONS":
		return retention{bytes: o.NotificationsMaxBytes}
	case "LEDGE_READINGS":
		return retention{o.ReadingsMaxAge, o.ReadingsMaxBytes}
	}
	return retention{}
}

func (o Options) reserve(st stream) int64 {
	if st.name == "LEDGE_READINGS" {
		return o.ReadingsReserveBytes
	}
	return o.ReserveBytes
}
