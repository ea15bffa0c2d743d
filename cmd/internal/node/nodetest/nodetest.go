// Package nodetest is for tests of what works on a node: it records on one, and holds that its state is a fold of its log.
package nodetest

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
)

// EventsOf returns the data events of a device, in the order of the log.
func EventsOf(t *testing.T, d *node.Node, device string) (list []domain.DataEvent) {
	t.Helper()
	v, done := d.Readings.State.View()
	defer done()
	ids, _, err := v.Keys(domain.ListDataEvents, domain.Page{Limit: 100_000}, domain.Filter{Index: domain.IndexDevice, Value: device})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		e, _ := v.DataEvents.Get(id)
		list = append(list, e)
	}
	slices.Reverse(list)
	return list
}

// PostInTurns posts n readings of each device.
func PostInTurns(t *testing.T, d *node.Node, n, bytes int, devices ...string) {
	t.Helper()
	var commands []domain.Command
	for range n {
		for _, device := range devices {
			commands = append(commands, NewReading(device, "r", bytes))
		}
	}
	for some := range slices.Chunk(commands, 1000) {
		Submit(t, d, some...)
	}
}

// LoseFront records readings over several block files and drops all but the last of these from the log.
func LoseFront(t *testing.T, d *node.Node) {
	t.Helper()
	for range 10 {
		var list []domain.Command
		for range 20 {
			list = append(list, NewReading("d", "r", 100<<10))
		}
		Submit(t, d, list...)
	}
	log := d.Readings.Log
	before := log.First()
	last, _ := log.Last()
	if first, err := log.DropBefore(t.Context(), last); err != nil || first == before {
		t.Fatalf("the log begins at %d, and began at %d: %v", first, before, err)
	}
}

// Submit records commands.
func Submit(t *testing.T, d *node.Node, commands ...domain.Command) {
	t.Helper()
	requests := make([]domain.Request, len(commands))
	for i, c := range commands {
		requests[i] = domain.Request{Stamp: domain.Stamp{EventID: NewID(), At: time.Now(), Actor: "anonymous"}, Command: c}
	}
	log := d.Readings.Appender
	if _, ok := commands[0].(domain.AddNotification); ok {
		log = d.Notifications.Appender
	}
	outcomes, err := log.Submit(t.Context(), requests...)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

// NewReading is a value of so many bytes, posted to a resource of a device with the profile "p".
func NewReading(device, resource string, bytes int) domain.Command {
	r := domain.Reading{ID: NewID(), Profile: "p", Device: device, Resource: resource, ValueType: domain.Binary, MediaType: "image/jpeg",
		Size: int64(bytes), Origin: time.Now().UnixNano()}
	return domain.PostReading{Reading: domain.ReadingPosted{Reading: r, Value: make([]byte, bytes)}}
}

// PostReadings records readings of 100 KiB.
func PostReadings(t *testing.T, d *node.Node, n int) {
	t.Helper()
	for range n {
		Submit(t, d, NewReading("d", "r", 100<<10))
	}
}

// NewID returns a UUID.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// CountOf returns how many entities a list has.
func CountOf(t *testing.T, db *projections.DB, list string) int {
	t.Helper()
	v, release := db.View()
	defer release()
	_, n, err := v.Keys(list, projections.Page{})
	if err != nil {
		t.Error(err)
	}
	return n
}

// MustBeFold holds that the state is a fold of the log.
func MustBeFold(t *testing.T, d *node.Node) {
	t.Helper()
	for _, p := range d.Parts() {
		fresh, remove, err := node.OpenFresh(p.File, p.Tables, d.Logger)
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		if _, err := p.Log.Verify(t.Context(), fresh.Apply); err != nil {
			t.Errorf("%s: %v", p.File, err)
		}
		var got, want bytes.Buffer
		if err := errors.Join(p.State.Dump(&got), fresh.Dump(&want)); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s does not equal the fold of the log: %v", p.File, err)
		}
	}
}

// Until waits for done to hold, and fails after a minute.
func Until(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	hung := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-hung:
			tb.Fatalf("waited a minute for %s", what)
		}
	}
}

// Open opens the node of a data folder until the end of the test.
func Open(t *testing.T, dir string) *node.Node {
	t.Helper()
	n, err := node.Open(t.Context(), node.Options{
		Paths: datadir.Paths{Data: dir}, ReserveBytes: 256 << 10, ReadingsReserveBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}
