package data

import (
	"bytes"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// answer is written one value after the other.
type answer struct {
	*handlers.Answer
	s      service
	enc    encoder
	values *values
}

// answer begins an answer in JSON or CBOR.
func (s service) answer(c *gin.Context) *answer {
	if wantsCBOR(c.Request.Header) {
		a := s.answerOf(c, typeCBOR)
		a.enc, a.Disposition = cborEncoder{a.Output}, "attachment"
		return a
	}
	a := s.answerOf(c, typeJSON)
	a.enc = &jsonEncoder{out: a.Output}
	return a
}

// answerOf begins an answer of a media type, without an encoder.
func (s service) answerOf(c *gin.Context, contentType string) *answer {
	a := &answer{Answer: s.Answer(c, http.StatusOK, contentType), s: s}
	a.Vary = "Accept"
	a.values = &values{service: s, ctx: c.Request.Context(), memory: a.Memory}
	a.Shed = a.values.shed
	return a
}

// finish ends the answer.
func (a *answer) finish() {
	a.enc.end()
	a.enc.last()
	a.End()
}

// envelope begins the answer.
func (a *answer) envelope() {
	a.enc.begin()
	a.text("apiVersion", a.s.APIVersion)
	a.number("statusCode", http.StatusOK)
}

func (a *answer) text(name, value string) {
	a.enc.key(name)
	a.enc.text(value)
}

// some leaves an empty text out.
func (a *answer) some(name, value string) {
	if value != "" {
		a.text(name, value)
	}
}

func (a *answer) number(name string, value int64) {
	a.enc.key(name)
	a.enc.number(value)
}

// event writes an event with its readings, unless it is gone meanwhile. The order of the fields is that of EdgeX 2.3.
func (a *answer) event(d domain.DataEvent) {
	first, there := a.readingsOf(d, 0)
	if !there {
		return
	}
	a.enc.begin()
	a.text("apiVersion", a.s.APIVersion)
	a.text("id", d.ID)
	a.text("deviceName", d.Device)
	a.text("profileName", d.Profile)
	a.text("sourceName", d.Source)
	a.number("origin", d.Origin)
	a.enc.key("readings")
	a.enc.list()
	for i := 0; there && a.Err == nil; {
		for _, r := range first {
			a.reading(r)
		}
		if i += readingsAtOnce; i >= len(d.Readings) {
			break
		}
		first, there = a.readingsOf(d, i)
	}
	a.enc.endList()
	if len(d.Tags) > 0 {
		a.enc.key("tags")
		a.enc.object(bytes.NewReader(d.Tags))
	}
	a.enc.end()
}

// readingsAtOnce is how many readings of an event are in memory at a time.
const readingsAtOnce = 64

// readingsOf returns the readings of an event from the i-th on; false where the event is gone.
func (a *answer) readingsOf(d domain.DataEvent, i int) (list []domain.Reading, there bool) {
	view, done := a.s.state()
	defer done()
	if _, there = view.State.DataEvents.Get(d.ID); !there {
		return nil, false
	}
	ids := d.Readings[i:min(len(d.Readings), i+readingsAtOnce)]
	list = make([]domain.Reading, 0, len(ids))
	for _, id := range ids {
		if r, ok := view.State.Readings.Get(id); ok {
			list = append(list, r)
		}
	}
	return list, true
}

// openValue opens the value of a reading; ok is false if it is gone meanwhile, or if the answer has failed.
func (a *answer) openValue(r domain.Reading) (value io.ReadSeekCloser, ok bool) {
	value, ok, err := a.values.open(r)
	if err != nil {
		a.Fail(err)
	}
	return value, ok && err == nil
}

// reading writes a reading, unless its value is gone meanwhile.
func (a *answer) reading(r domain.Reading) {
	value, ok := a.openValue(r)
	if !ok {
		return
	}
	defer value.Close()
	a.enc.begin()
	a.some("id", r.ID)
	a.number("origin", r.Origin)
	a.text("deviceName", r.Device)
	a.text("resourceName", r.Resource)
	a.text("profileName", r.Profile)
	a.text("valueType", r.ValueType)
	a.some("units", r.Units)
	a.value(r, value)
	a.enc.end()
}

// value writes the value as its type has it. Like EdgeX 2.3 it writes an empty text for what is none.
func (a *answer) value(r domain.Reading, value io.Reader) {
	switch r.ValueType {
	case domain.Binary:
		a.enc.key("binaryValue")
		a.enc.bytes(value, r.Size)
		a.some("mediaType", r.MediaType)
		a.text("value", "")
	case "Object":
		a.text("value", "")
		a.enc.key("objectValue")
		a.enc.object(value)
	default:
		a.enc.key("value")
		if r.Text != "" {
			a.enc.text(r.Text)
			return
		}
		a.enc.long(value)
	}
}
