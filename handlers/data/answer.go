package data

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// answerBuffer is how much of an answer is made before the first of it is sent, in bytes.
const answerBuffer = 32 << 10

// answer is one that is sent while it is made, with one value at a time in memory. Nothing of the state is held while the client
// reads.
type answer struct {
	s           service
	c           *gin.Context
	client      http.ResponseWriter
	contentType string
	begun       bool // something was sent
	out         *output
	enc         encoder
	values      *values
}

func (s service) answer(c *gin.Context) *answer {
	a := &answer{s: s, c: c, client: s.Progress(c), contentType: typeJSON, values: &values{service: s, ctx: c.Request.Context()}}
	a.out = &output{w: bufio.NewWriterSize(a, answerBuffer)}
	a.enc = &jsonEncoder{out: a.out}
	if wantsCBOR(c.Request.Header) {
		a.contentType, a.enc = typeCBOR, cborEncoder{a.out}
	}
	return a
}

// Write implements io.Writer: it sends.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.c.Writer.Header()
		h.Set("Content-Type", a.contentType)
		h.Add("Vary", "Accept")
		a.c.Status(http.StatusOK)
	}
	return a.client.Write(p)
}

// finish sends what is left. An answer that could not be made is an error where nothing of it was sent, and else breaks
// off, so that nobody takes it for a whole one.
func (a *answer) finish() {
	a.values.release()
	a.enc.end()
	a.enc.last()
	if a.out.err == nil {
		if !a.begun {
			a.c.Header("Content-Length", strconv.Itoa(a.out.w.Buffered()))
		}
		a.out.err = a.out.w.Flush()
	}
	switch {
	case a.out.err == nil:
	case !a.begun:
		a.c.Header("ETag", "") // that of what cannot be shown
		a.s.Fail(a.c, a.out.err)
	default:
		if a.out.unread {
			a.s.Logger.Error("answer broke off", "service", a.s.Service, "path", a.c.Request.URL.Path, "error", a.out.err)
		}
		panic(http.ErrAbortHandler)
	}
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
	for i := 0; there && a.out.err == nil; {
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

// reading writes a reading, unless its value is gone meanwhile.
func (a *answer) reading(r domain.Reading) {
	value, ok, err := a.values.open(r)
	if err != nil {
		a.out.fail(err)
	}
	if !ok || err != nil {
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

// output is what encoders write to: the first error ends it.
type output struct {
	w      *bufio.Writer
	err    error
	unread bool // err is that of a value that could not be read
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

func (o *output) print(text string) {
	if o.err == nil {
		_, o.err = o.w.WriteString(text)
	}
}

// fail notes that a value cannot be read.
func (o *output) fail(err error) {
	if o.err == nil && err != nil {
		o.err, o.unread = err, true
	}
}
