package lanes

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// record is what is recorded of some items: those that have no outcome, by target, and those that were sent.
type record struct {
	mu    sync.Mutex
	open  map[string][]Item
	sent  map[string][]string // by target and entity
	gate  chan struct{}       // closed when sends succeed
	lanes *Lanes
}

func (r *record) load(target string, add func(Item) bool) error {
	r.mu.Lock()
	open := slices.Clone(r.open[target])
	r.mu.Unlock()
	for _, it := range open {
		time.Sleep(time.Microsecond) // so that items are added meanwhile
		if !add(it) {
			return nil
		}
	}
	return nil
}

func (r *record) post(it Item) {
	r.mu.Lock()
	r.open[it.Target] = append(r.open[it.Target], it)
	r.mu.Unlock()
	r.lanes.Add(it)
}

func (r *record) isOpen(it Item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.open[it.Target], func(one Item) bool { return one.ID == it.ID })
}

type recorded struct {
	*record
	Item
}

func (r recorded) Send(ctx context.Context) error {
	select {
	case <-r.gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r recorded) Record(error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[r.Target] = slices.DeleteFunc(r.open[r.Target], func(it Item) bool { return it.ID == r.ID })
	lane := r.Target + " " + r.Entity
	r.sent[lane] = append(r.sent[lane], r.ID)
	go r.lanes.End(r.Target, r.ID)
	return true
}

// TestShareOfQueues posts more items to ten targets than all may have in memory. The first targets do not take the place of the others, and in
// the end each item is sent once, in the order of its entity, also those that came while others were loaded.
func TestShareOfQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const targets, each, together, atOnce = 10, 120, 200, 4
		r := &record{open: map[string][]Item{}, sent: map[string][]string{}, gate: make(chan struct{})}
		l := New(Options{
			Limits: Limits{AtOnce: atOnce, Queue: 100, Together: together, Timeout: time.Hour}, Load: r.load, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Open: func(it Item) (Attempt, bool) { return recorded{r, it}, r.isOpen(it) },
		})
		r.lanes = l
		l.Start()
		post := func(from, to int) {
			for i := from; i < to; i++ {
				for n := range targets {
					at := Endpoint{Server: fmt.Sprint("s-", n), Host: "h", Target: fmt.Sprint("t-", n)}
					r.post(Item{ID: fmt.Sprintf("%d-%04d", n, i), Endpoint: at, Entity: fmt.Sprint("e-", i%3), Sequence: uint64(i), Since: time.Now()})
				}
			}
		}
		post(0, each)
		l.mu.Lock()
		if l.held > together+atOnce*targets {
			t.Errorf("%d items are in memory, want %d at most", l.held, together+atOnce*targets)
		}
		for _, one := range l.targets {
			if one.held() < atOnce || !one.more {
				t.Errorf("%s has %d items in memory; more: %t", one.Target, one.held(), one.more)
			}
		}
		l.mu.Unlock()
		close(r.gate)
		for i := each; i < 3*each; i += 4 {
			post(i, i+4)
			time.Sleep(10 * time.Microsecond)
		}
		time.Sleep(time.Hour) // of the bubble
		synctest.Wait()
		for n := range targets {
			got := 0
			for e := range 3 {
				ids := r.sent[fmt.Sprintf("t-%d e-%d", n, e)]
				if got += len(ids); !slices.IsSorted(ids) {
					t.Errorf("t-%d: e-%d is out of order: %s", n, e, strings.Join(ids, " "))
				}
			}
			if got != 3*each {
				t.Errorf("t-%d: %d were sent, want %d", n, got, 3*each)
			}
		}
		if l.held != 0 {
			t.Errorf("%d items are in memory after all were sent", l.held)
		}
		l.Close()
	})
}

// TestItemLeftOnRecordDuringLoad fills a queue while its items are loaded, so that a new item stays on record. An item of the load that fits
// again afterwards does not hide the new one: it is sent too.
func TestItemLeftOnRecordDuringLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &record{open: map[string][]Item{}, sent: map[string][]string{}, gate: make(chan struct{})}
		at := Endpoint{Server: "s", Host: "h", Target: "t"}
		post := func(i int) {
			r.post(Item{ID: fmt.Sprint(i), Endpoint: at, Entity: "e", Sequence: uint64(i), Since: time.Now()})
		}
		remove := func(i int) {
			r.open["t"] = slices.DeleteFunc(r.open["t"], func(it Item) bool { return it.ID == fmt.Sprint(i) })
			r.lanes.End("t", fmt.Sprint(i))
		}
		loads := 0
		load := func(target string, add func(Item) bool) error {
			if loads++; loads > 1 {
				return r.load(target, add)
			}
			open := slices.Clone(r.open[target])
			for _, it := range open[:4] { // 2 and 3 are known, 4 and 5 fill the queue
				add(it)
			}
			post(7)
			if one := r.lanes.targets["t"]; one.known["7"] != nil || !one.more {
				t.Errorf("7 is in memory: %t; more: %t; want it left on record", one.known["7"] != nil, one.more)
			}
			remove(2)
			if !add(open[4]) {
				t.Error("6 does not fit the queue")
			}
			return nil
		}
		r.lanes = New(Options{
			Limits: Limits{AtOnce: 1, Queue: 4, Timeout: time.Hour}, Load: load, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Open: func(it Item) (Attempt, bool) { return recorded{r, it}, r.isOpen(it) },
		})
		for i := range 7 {
			post(i) // 4 to 6 stay on record
		}
		remove(0)
		remove(1)
		close(r.gate)
		r.lanes.Start()
		time.Sleep(time.Hour) // of the bubble
		synctest.Wait()
		if got, want := strings.Join(r.sent["t e"], " "), "3 4 5 6 7"; got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
		r.lanes.Close()
	})
}
