package metadata

import (
	"bytes"
	"encoding/json"

	"ledge/domain/eventlog"
	"ledge/handlers"
)

// eventShape is an event in a list.
type eventShape struct {
	Sequence uint64 `json:"sequence"`
	// Time is in milliseconds since the Unix epoch.
	Time          int64  `json:"time"`
	Type          string `json:"type"` // with its version, such as device.added/1
	Subject       string `json:"subject"`
	Actor         string `json:"actor"`
	Origin        string `json:"origin,omitempty"`
	CorrelationID string `json:"correlationId,omitempty"`
	EventID       string `json:"eventId,omitempty"`
	ContentType   string `json:"contentType,omitempty"`
	Size          int    `json:"size"` // of the data in bytes
	// Data is left out if it is not JSON, or too long.
	Data json.RawMessage `json:"data,omitempty"`
}

// newEventShape returns the shape of an event with data of at most so many bytes.
func newEventShape(e eventlog.Event, most int) eventShape {
	s := eventShape{
		Sequence: e.Seq, Time: e.Stamp.At.UnixMilli(), Type: e.Wire.Type, Subject: e.Subject, Actor: e.Stamp.Actor, Origin: e.Stamp.Origin,
		CorrelationID: e.Stamp.CorrelationID, EventID: e.Stamp.EventID, ContentType: e.Wire.ContentType, Size: len(e.Wire.Data),
	}
	var text bytes.Buffer
	if len(e.Wire.Data) <= most && json.Compact(&text, e.Wire.Data) == nil {
		s.Data = text.Bytes()
	}
	return s
}

// eventsAnswer is a page of events.
type eventsAnswer struct {
	handlers.Envelope
	Events     []eventShape `json:"events"`
	Next       uint64       `json:"next"`
	Last       uint64       `json:"last"`
	Incomplete string       `json:"incomplete,omitempty"`
}

// eventAnswer is one event.
type eventAnswer struct {
	handlers.Envelope
	Event eventDetail `json:"event"`
}

// eventDetail is an event with all that is stored of it.
type eventDetail struct {
	eventShape
	Log     string        `json:"log"`
	Chain   string        `json:"chain"`
	Headers []headerShape `json:"headers"`
}

type headerShape struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func newEventDetail(e eventlog.Event) eventDetail {
	d := eventDetail{eventShape: newEventShape(e, mostEventData), Log: e.Log, Chain: e.Chain, Headers: []headerShape{}}
	for _, h := range e.Headers {
		d.Headers = append(d.Headers, headerShape{h[0], h[1]})
	}
	return d
}
