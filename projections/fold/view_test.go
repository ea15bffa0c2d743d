package fold

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// A list that meets Close says so, and so does all that is asked after it.
func TestListMeetsClose(t *testing.T) {
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour})
	f.feed(t, 1, items(2)...)
	v, release := f.View()
	done := make(chan error, 1)
	go func() { done <- f.Close() }() // it waits for the view
	f.until(t, "closing", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.closed
	})
	if _, _, err := list(v, Page{Limit: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("list: got %v", err)
	}
	if _, _, err := parts.Keys(v, nil, Page{Limit: 1}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("second list: got %v", err)
	}
	release()
	must(t, <-done)
	f.open(t)
}

// After a list that failed, a View shows what the transaction has in which it reads from then on.
func TestViewAfterAFailedList(t *testing.T) {
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour})
	f.feed(t, 1, items(2)...)
	must(t, f.Sync())
	f.add(t, count{})
	v, release := f.View()
	defer release()
	rows := things.Rows(v)
	if _, ok := rows.Get(item(1).Name); !ok {
		t.Fatal("not found")
	}
	changed := item(1)
	changed.Text = "changed"
	f.add(t, put{changed})
	failed := errors.New("the file cannot be used")
	f.broken.Store(&failed)
	if _, _, err := list(v, Page{Limit: 1}); !errors.Is(err, failed) {
		t.Errorf("list: got %v", err)
	}
	f.broken.Store(nil)
	got, _ := rows.Get(item(1).Name)
	if seq, _ := v.Checkpoint(); seq != 4 || got.Text != "changed" {
		t.Errorf("at %d: %q", seq, got.Text)
	}
}

// What waits for the file is counted with all that it takes: each row also as the page that a flush copies for it.
func TestMemtableCountsBytes(t *testing.T) {
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour, Bytes: 8 << 20})
	long := item(1)
	long.Text = strings.Repeat("x", 1<<20)
	f.add(t, put{long})
	if got, want := f.fresh.bytes, len(long.Text)+perRow; got < want || got > want+1000 {
		t.Errorf("%d bytes, want some %d", got, want)
	}
}

// A list flushes what was applied before it. Lists that come while a flush runs share the next one, and a list of what is in the
// file writes nothing.
func TestListsShareAFlush(t *testing.T) {
	f := mustOpen(t)
	f.reopen(t, Limits{After: time.Hour})
	const lists = 20
	f.feed(t, lists, items(lists)...)
	before := f.file.last.Load()
	first := func() {
		v, release := f.View()
		defer release()
		if list, total, err := list(v, Page{Limit: 1}, is("label", "thing")); err != nil || total != lists || list[0].Name != item(lists-1).Name {
			t.Errorf("total %d, %v", total, err)
		}
	}
	var all sync.WaitGroup
	for range lists {
		all.Go(first)
	}
	all.Wait()
	first()
	if n := f.file.last.Load() - before; n != 1 {
		t.Errorf("the lists have written the file %d times, want once", n)
	}
}
