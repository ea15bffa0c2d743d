package data

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// memory is Payloads in memory, with what was put and not yet released.
type memory struct {
	kept map[string][]byte
	held map[string]int
	used int
	fail error // of all Puts but the first
	// broken has Get give what fails after a few bytes.
	broken bool
	// missing is called when something is asked for that is not there.
	missing func()
}

func newMemory() *memory { return &memory{kept: map[string][]byte{}, held: map[string]int{}} }

func (m *memory) Put(_ context.Context, r io.Reader, limit int64) (string, int64, error) {
	b, err := io.ReadAll(r)
	if err != nil || int64(len(b)) > limit {
		return "", 0, cmp.Or(err, io.ErrShortBuffer)
	}
	if m.fail != nil && len(m.kept) > 0 {
		return "", 0, m.fail
	}
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:])
	m.kept[digest] = b
	m.held[digest]++
	return digest, int64(len(b)), nil
}

func (m *memory) Release(digest string, used bool) {
	if m.held[digest]--; m.held[digest] == 0 {
		delete(m.held, digest)
	}
	if used {
		m.used++
	}
}

func (m *memory) Get(digest string) (io.ReadSeekCloser, error) {
	b, ok := m.kept[digest]
	if !ok {
		if m.missing != nil {
			m.missing()
		}
		return nil, fs.ErrNotExist
	}
	if m.broken {
		return inMemory{&failing{bytes.NewReader(b)}}, nil
	}
	return inMemory{bytes.NewReader(b)}, nil
}

// failing fails in its second half.
type failing struct{ *bytes.Reader }

func (f *failing) Read(p []byte) (int, error) {
	if f.Len() < int(f.Size()/2) {
		return 0, fs.ErrClosed
	}
	return f.Reader.Read(p)
}

const (
	eventID   = "6877ff35-5566-5d14-a992-79fbb18d8d4a"
	readingID = "1cf4a2f6-5566-4d14-a992-79fbb18d8d4b" // a picture that is on the log
	// inlineBytes is how long a value on the log may be, in these tests.
	inlineBytes = 2000
	// origin is that of the event, in nanoseconds.
	origin = 1700000000000000000
)

var picture = bytes.Repeat([]byte("\xff\xd8\xff\xd9"), 25)

type fixture struct {
	http.Handler
	log      *handlerstest.Log
	payloads *memory
	// gone are the sequences that retention has removed from the log.
	gone map[uint64]bool
	// reads counts what was read from the log.
	reads *int
}

// at is EventAt.
func (f fixture) at(_ context.Context, seq uint64) (domain.Event, bool, error) {
	*f.reads++
	if f.log.Fail != nil || f.gone[seq] {
		return nil, false, f.log.Fail
	}
	return f.log.Recorded()[seq-1].Event, true, nil
}

// mustData returns core-data with one event of device hall-1: a temperature, the picture and a state.
func mustData(tb testing.TB, change ...func(*handlers.Options)) fixture {
	tb.Helper()
	o := handlerstest.Options("core-data")
	o.InlineBytes = inlineBytes
	for _, f := range change {
		f(&o)
	}
	f := fixture{log: handlerstest.NewLog(), payloads: newMemory(), gone: map[uint64]bool{}, reads: new(int)}
	f.log.Given(tb, domain.AddDataEvent{Added: domain.DataEventAdded{
		Event: domain.DataEvent{ID: eventID, Profile: "climate", Device: "hall-1", Source: "everything", Origin: origin, Tags: json.RawMessage(`{"site":"north"}`)},
		Readings: []domain.ReadingValue{
			{Reading: readingOf(1, "temperature", "Float32", func(r *domain.Reading) { r.Text, r.Units, r.Size = "2.150000e+01", "°C", 12 })},
			{Reading: readingOf(2, "image", "Binary", func(r *domain.Reading) { r.ID, r.MediaType, r.Size = readingID, "image/jpeg", 100 }), Data: picture},
			{Reading: readingOf(3, "state", "Object", func(r *domain.Reading) { r.Size = 12 }), Object: json.RawMessage(`{"fan":"on"}`)},
		},
	}})
	f.Handler = contract.Watch(tb, New(o, f.log.View, f.log, f.at, f.payloads))
	return f
}

func readingOf(n int, resource, valueType string, change func(*domain.Reading)) domain.Reading {
	r := domain.Reading{
		ID: handlerstest.ID(500 + n), Profile: "climate", Device: "hall-1", Resource: resource, ValueType: valueType, Origin: origin + int64(n),
	}
	change(&r)
	return r
}

const (
	api  = "/api/v2"
	path = api + "/event/climate/hall-1/everything"
)

// posted is the JSON of a request that adds an event, whose readings are given.
func posted(id string, readings ...string) string {
	all := ""
	for i, r := range readings {
		if i > 0 {
			all += ","
		}
		all += fmt.Sprintf(`{"origin":1700000000000000099,"deviceName":"hall-1","resourceName":"r","profileName":"climate",%s}`, r)
	}
	return fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"hall-1","profileName":"climate","sourceName":"everything","origin":1700000000000000099,"readings":[%s]}}`, id, all)
}

const five = `"valueType":"Int32","value":"5"`
