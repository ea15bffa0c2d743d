package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
)

// configOf is the configuration of flags.
func configOf(t *testing.T, flags ...string) *config.Config {
	t.Helper()
	c := config.Default()
	if err := c.Settings().Parse(flags); err != nil {
		t.Fatal(err)
	}
	return c
}

// keepingLittle is the configuration of a folder that needs little space.
func keepingLittle(t *testing.T) *config.Config {
	t.Helper()
	return configOf(t, "--data-dir", t.TempDir(), "--readings-max-bytes", "1MiB", "--disk-reserve", "256KiB")
}

// loseFront records readings over several block files and drops all but the last of these from the log.
func loseFront(d *node.Node, t *testing.T) {
	t.Helper()
	for range 10 {
		var list []domain.Command
		for range 20 {
			list = append(list, reading("d", "r", 100<<10))
		}
		submitAll(d, t, list...)
	}
	log := d.Readings.Log
	before := log.First()
	last, _ := log.Last()
	if first, err := log.DropBefore(t.Context(), last); err != nil || first == before {
		t.Fatalf("the log begins at %d, and began at %d: %v", first, before, err)
	}
}

func mustOpenData(t *testing.T, c *config.Config) *node.Node {
	t.Helper()
	d, err := node.Open(t.Context(), nodeOptions(c, slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// submitAll records commands.
func submitAll(d *node.Node, t *testing.T, commands ...domain.Command) {
	t.Helper()
	requests := make([]domain.Request, len(commands))
	for i, c := range commands {
		requests[i] = domain.Request{Stamp: domain.Stamp{EventID: newID(), At: time.Now(), Actor: "anonymous"}, Command: c}
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

// reading is a value of so many bytes, posted to a resource of a device with the profile "p".
func reading(device, resource string, bytes int) domain.Command {
	r := domain.Reading{ID: newID(), Profile: "p", Device: device, Resource: resource, ValueType: domain.Binary, MediaType: "image/jpeg",
		Size: int64(bytes), Origin: time.Now().UnixNano()}
	return domain.PostReading{Reading: domain.ReadingPosted{Reading: r, Value: make([]byte, bytes)}}
}

// postReadings records readings of 100 KiB.
func postReadings(d *node.Node, t *testing.T, n int) {
	t.Helper()
	for range n {
		submitAll(d, t, reading("d", "r", 100<<10))
	}
}

// newID returns a UUID.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// totalOf returns how many entities a list has.
func totalOf(t *testing.T, db *projections.DB, list string) int {
	t.Helper()
	v, release := db.View()
	defer release()
	_, n, err := v.Keys(list, projections.Page{})
	if err != nil {
		t.Error(err)
	}
	return n
}

// kept compares the readings in the state with those on the log.
func kept(d *node.Node, t *testing.T) {
	t.Helper()
	readings := d.Parts()[2]
	first := readings.Log.First()
	last, _ := readings.Log.Last()
	if first == 1 {
		t.Fatal("retention has removed nothing")
	}
	until(t, fmt.Sprintf("%d readings in the state", last-first+1), func() bool {
		return totalOf(t, readings.State, "readings") == int(last-first+1)
	})
	isFold(d, t)
}

// isFold holds that the state is a fold of what is on the log.
func isFold(d *node.Node, t *testing.T) {
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

// TestStateForgets holds that what retention removes from the log goes from the state too: while it runs, and at a start.
func TestStateForgets(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	loseFront(d, t)
	d.Forget(t.Context(), d.Parts()[2])
	kept(d, t)
	loseFront(d, t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	kept(mustOpenData(t, c), t)
}

// TestStateBehindRetention starts with a state whose next event retention has removed.
func TestStateBehindRetention(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	postReadings(d, t, 2)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), datadir.StateFiles[2])
	copyTree(t, c.DataDir, filepath.Dir(old), func(rel string) bool { return rel == datadir.StateFiles[2] })
	d = mustOpenData(t, c)
	loseFront(d, t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	copyTree(t, filepath.Dir(old), c.DataDir, everything)
	db, err := projections.Open(projections.Options{Path: filepath.Join(c.DataDir, datadir.StateFiles[2]), Tables: projections.Readings})
	if err != nil {
		t.Fatal(err)
	}
	if seq, _ := db.Checkpoint(); seq != 2 || db.Close() != nil {
		t.Fatalf("the old state is at %d", seq)
	}
	kept(mustOpenData(t, c), t)
}
