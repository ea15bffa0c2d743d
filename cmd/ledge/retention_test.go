package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/projections"
)

// configOf is the configuration of flags.
func configOf(t *testing.T, flags ...string) *Config {
	t.Helper()
	c := &Config{}
	if err := c.settings().Parse(flags); err != nil {
		t.Fatal(err)
	}
	return c
}

// keepingLittle is the configuration of a folder that needs little space.
func keepingLittle(t *testing.T) *Config {
	t.Helper()
	return configOf(t, "--data-dir", t.TempDir(), "--readings-max-bytes", "1MiB", "--disk-reserve", "256KiB")
}

// loseFront records readings over several block files and drops all but the last of these from the log.
func (d *data) loseFront(t *testing.T) {
	t.Helper()
	for range 10 {
		var list []domain.Command
		for range 20 {
			list = append(list, ledgetest.Reading("d", "r", 100<<10))
		}
		d.submit(t, list...)
	}
	log := d.store.Readings()
	before := log.First()
	last, _ := log.Last()
	if first, err := log.DropBefore(t.Context(), last); err != nil || first == before {
		t.Fatalf("the log begins at %d, and began at %d: %v", first, before, err)
	}
}

func mustOpenData(t *testing.T, c *Config) *data {
	t.Helper()
	d, err := openData(t.Context(), c, -1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	return d
}

// submit records commands.
func (d *data) submit(t *testing.T, commands ...domain.Command) {
	t.Helper()
	requests := make([]domain.Request, len(commands))
	for i, c := range commands {
		requests[i] = domain.Request{Stamp: domain.Stamp{EventID: ledgetest.NewID(), At: time.Now(), Actor: "anonymous"}, Command: c}
	}
	log := d.readings
	if _, ok := commands[0].(domain.AddNotification); ok {
		log = d.notifications
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

// post records readings of 100 KiB.
func (d *data) post(t *testing.T, n int) {
	t.Helper()
	for range n {
		d.submit(t, ledgetest.Reading("d", "r", 100<<10))
	}
}

// kept compares the readings in the state with those on the log.
func (d *data) kept(t *testing.T) {
	t.Helper()
	readings := d.projections()[2]
	first := readings.log.First()
	last, _ := readings.log.Last()
	if first == 1 {
		t.Fatal("retention has removed nothing")
	}
	ledgetest.Until(t, fmt.Sprintf("%d readings in the state", last-first+1), func() bool {
		return ledgetest.TotalOf(t, readings.db, "readings") == int(last-first+1)
	})
	d.isFold(t)
}

// isFold holds that the state is a fold of what is on the log.
func (d *data) isFold(t *testing.T) {
	t.Helper()
	for _, p := range d.projections() {
		fresh, remove, err := freshFold(p.file, p.tables, d.logger)
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		if _, err := p.log.Verify(t.Context(), fresh.Apply); err != nil {
			t.Errorf("%s: %v", p.file, err)
		}
		var got, want bytes.Buffer
		if err := errors.Join(p.db.Dump(&got), fresh.Dump(&want)); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s does not equal the fold of the log: %v", p.file, err)
		}
	}
}

// TestStateForgets holds that what retention removes from the log goes from the state too: while it runs, and at a start.
func TestStateForgets(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	d.loseFront(t)
	d.forget(t.Context(), d.projections()[2])
	d.kept(t)
	d.loseFront(t)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	mustOpenData(t, c).kept(t)
}

// TestStateBehindRetention starts with a state whose next event retention has removed.
func TestStateBehindRetention(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	d.post(t, 2)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), datadir.StateFiles[2])
	ledgetest.CopyTree(t, c.DataDir, filepath.Dir(old), func(rel string) bool { return rel == datadir.StateFiles[2] })
	d = mustOpenData(t, c)
	d.loseFront(t)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	ledgetest.CopyTree(t, filepath.Dir(old), c.DataDir, ledgetest.Everything)
	db, err := projections.Open(projections.Options{Path: filepath.Join(c.DataDir, datadir.StateFiles[2]), Tables: projections.Readings})
	if err != nil {
		t.Fatal(err)
	}
	if seq, _ := db.Checkpoint(); seq != 2 || db.Close() != nil {
		t.Fatalf("the old state is at %d", seq)
	}
	mustOpenData(t, c).kept(t)
}
