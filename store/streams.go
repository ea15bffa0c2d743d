package store

const (
	accountName  = "LEDGE"
	appendPrefix = "ledge.append."
	directGet    = "$JS.API.DIRECT.GET."
	streamAPI    = "$JS.API.STREAM."
)

// The names of the three streams.
const (
	EventsStream        = "LEDGE_EVENTS"
	NotificationsStream = "LEDGE_NOTIFICATIONS"
	ReadingsStream      = "LEDGE_READINGS"
)

// stream is one of the three streams as it is meant to be.
type stream struct {
	name string
	// public is the prefix under which taps see the events, ingest the private one under which they are appended.
	public, ingest string
	// forever: nothing is ever removed, so the first sequence is 1.
	forever bool
}

var streams = [...]stream{
	{name: EventsStream, public: "ledge.event.", ingest: appendPrefix + "event.", forever: true},
	{name: NotificationsStream, public: "ledge.notification.", ingest: appendPrefix + "notification."},
	{name: ReadingsStream, public: "ledge.reading.", ingest: appendPrefix + "reading."},
}

func (o Options) reserve(st stream) int64 {
	if st.name == ReadingsStream {
		return o.ReadingsReserveBytes
	}
	return o.ReserveBytes
}
