package fold

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// While a flush cannot go on, Apply takes as much as the limits say, and no more.
func TestApplyWaitsForRoom(t *testing.T) {
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour, Events: 10})
	f.writing.Lock() // what a flush needs first
	var applied atomic.Int64
	done := make(chan error, 1)
	events := items(60)
	go func() {
		for i := range events {
			if err := f.Apply(events[i : i+1]); err != nil {
				done <- err
				return
			}
			applied.Add(1)
		}
		done <- nil
	}()
	must(t, f.Wait(t.Context(), 10*waitMost))
	select {
	case <-done:
		t.Error("all were applied")
	case <-time.After(20 * time.Millisecond):
	}
	if n, _ := f.Checkpoint(); n != 10*waitMost {
		t.Errorf("%d were applied, want %d", n, 10*waitMost)
	}
	f.writing.Unlock()
	must(t, <-done)
	f.events = events
}

// A flush that fails is the error of what comes after; what was applied is still seen.
func TestFlushFails(t *testing.T) {
	d, err := Open(Options{Path: filepath.Join(t.TempDir(), "state.db"), Tables: tables, Limits: Limits{After: time.Hour}})
	must(t, err)
	must(t, d.Apply(record(1, put{item(0)})))
	must(t, d.flush(1))
	counter := appendCount(nil, things.Indexes[0].ID, "")
	must(t, d.file.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketName).Put(counter, []byte("damaged")) }))
	must(t, d.Apply(record(2, put{item(1)})))
	if err := d.flush(2); err == nil {
		t.Fatal("no error")
	}
	for _, err := range []error{d.Apply(record(3, count{})), d.flush(2), d.Dump(&strings.Builder{})} {
		if err == nil || err != d.Health() {
			t.Errorf("got %v, want %v", err, d.Health())
		}
	}
	v, release := d.View()
	if _, _, err := list(v, Page{Limit: 1}); err != d.Health() {
		t.Errorf("list: got %v", err)
	}
	rows := things.Rows(v)
	if _, ok := rows.Get(item(1).Name); !ok {
		t.Error("what was applied is gone")
	}
	release()
	must(t, d.Close())
}

// TestWriterForgets holds that a writer keeps no key and no value of a flush that has ended, whatever memory it keeps for the next one.
func TestWriterForgets(t *testing.T) {
	w := newWriter()
	for _, n := range []int{1000, 10, 500} {
		for i := range n {
			key := fmt.Appendf(nil, "k%d", i)
			w.put(key, key, true)
			w.delete(fmt.Appendf(nil, "d%d", i))
		}
		w.reset()
		for id, changes := range w.changes {
			for _, one := range changes[:cap(changes)] {
				if one.key != nil || one.value != nil {
					t.Fatalf("after %d changes the writer keeps %q in table %d", n, one.key, id)
				}
			}
		}
	}
}
