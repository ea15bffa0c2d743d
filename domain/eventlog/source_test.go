package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
)

// memory is a log whose events have data of some sizes. Those from 1 to missing are in an archive that is missing.
type memory struct {
	sizes   []int
	missing uint64
	reads   int
	begins  int // searches for a time
}

// at returns the time when an event is stored: one a minute.
func (m *memory) at(seq uint64) time.Time { return time.Unix(int64(seq)*60, 0) }

func (m *memory) event(seq uint64) Event {
	m.reads++
	w := domain.Wire{Type: "profile.updated/2", Subject: domain.Subject{"profile", fmt.Sprint("p-", seq), "updated"}}
	w.Data = make([]byte, m.sizes[seq-1])
	return Event{Log: Changes, Seq: seq, Stored: m.at(seq), Stamp: domain.Stamp{At: m.at(seq)}, Wire: w}
}

func (m *memory) Span() (first, last uint64) { return 1, uint64(len(m.sizes)) }

func (m *memory) Read(_ context.Context, from, to uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for seq := from; seq <= to; seq++ {
			if seq <= m.missing {
				yield(Event{}, &Missing{From: seq, To: m.missing, Err: errors.New("gone")})
				return
			}
			if !yield(m.event(seq), nil) {
				return
			}
		}
	}
}

func (m *memory) At(_ context.Context, seq uint64) (Event, bool, error) {
	return m.event(seq), seq > m.missing, nil
}
func (m *memory) Chain(context.Context, uint64) string { return "" }
func (m *memory) source() Source                       { return Source{Logs: map[string]Reader{Changes: m}} }

// Since finds no time, as if all events were in archives.
func (m *memory) Since(context.Context, time.Time) (uint64, error) {
	return uint64(len(m.sizes)) + 1, nil
}

func (m *memory) Begin(context.Context, time.Time) (uint64, error) {
	m.begins++
	return 1, nil
}

func (m *memory) page(t *testing.T, q Query) (seqs []uint64, got Page) {
	t.Helper()
	q.Log = Changes
	got, err := m.source().Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got.Events {
		seqs = append(seqs, e.Seq)
	}
	return seqs, got
}

// TestPageBounds reads pages in both directions that are full, or have read enough.
func TestPageBounds(t *testing.T) {
	small, large := slices.Repeat([]int{10}, 100), []int{1 << 20, 9 << 20, 9 << 20, 20 << 20, 10}
	medium := slices.Repeat([]int{60 << 10}, 50)
	for _, tt := range []struct {
		name        string
		sizes       []int
		missing     uint64
		q           Query
		first, last uint64 // of the events
		n           int
		next        uint64
	}{
		{"limit", small, 0, Query{Limit: 3}, 1, 3, 3, 4},
		{"all", small, 0, Query{Limit: 1000}, 1, 100, 100, 101},
		{"looks", small, 0, Query{Limit: 1000, Looks: 10, Filter: Filter{Name: "p-1*"}}, 1, 10, 2, 11},
		{"bytes", large, 0, Query{Limit: 10}, 1, 2, 2, 3},
		{"one large event", large, 0, Query{Limit: 10, Filter: Filter{From: 4}}, 4, 4, 1, 5},
		{"data of the page", medium, 0, Query{Limit: 50}, 1, 34, 34, 35},
		{"missing", small, 20, Query{Limit: 3}, 21, 23, 3, 24},
		{"all missing", small, 100, Query{Limit: 3}, 0, 0, 0, 101},
		{"newest", small, 0, Query{Limit: 3, Newest: true}, 100, 98, 3, 97},
		{"newest from one on", small, 0, Query{Limit: 3, Newest: true, Filter: Filter{To: 2}}, 2, 1, 2, 0},
		{"newest looks", small, 0, Query{Limit: 9, Looks: 10, Newest: true, Filter: Filter{Name: "p-9?"}}, 99, 91, 9, 90},
		{"newest bytes", large, 0, Query{Limit: 10, Newest: true}, 5, 5, 1, 4},
		{"newest large event", large, 0, Query{Limit: 10, Newest: true, Filter: Filter{To: 4}}, 4, 4, 1, 3},
		{"newest missing", small, 98, Query{Limit: 5, Newest: true}, 100, 99, 2, 0},
	} {
		m := &memory{sizes: tt.sizes, missing: tt.missing}
		seqs, got := m.page(t, tt.q)
		var first, last uint64
		if len(seqs) > 0 {
			first, last = seqs[0], seqs[len(seqs)-1]
		}
		if first != tt.first || last != tt.last || len(seqs) != tt.n || got.Next != tt.next {
			const text = "%s: got %d events from %d to %d, next %d; want %d, %d, %d, %d"
			t.Errorf(text, tt.name, len(seqs), first, last, got.Next, tt.n, tt.first, tt.last, tt.next)
		}
		if (tt.missing > 0) != strings.Contains(got.Incomplete, "missing") {
			t.Errorf("%s: incomplete is %q", tt.name, got.Incomplete)
		}
	}
}

// TestPageOfTime holds that a page up to a time reads nothing that was stored much later, and that only the first of several pages searches
// for the time that they begin at.
func TestPageOfTime(t *testing.T) {
	m := &memory{sizes: slices.Repeat([]int{10}, 1000)}
	seqs, got := m.page(t, Query{Limit: 100, Filter: Filter{Until: m.at(11)}})
	if most := 11 + int(lateness/time.Minute) + 1; len(seqs) != 10 || got.Next != 1001 || m.reads > most {
		t.Errorf("got %v, next %d, after %d reads; want 10 events, 1001, %d reads at most", seqs, got.Next, m.reads, most)
	}
	q := Query{Limit: 100, Filter: Filter{Since: m.at(500)}}
	for m.begins = 0; q.From <= 1000; q.From = got.Next {
		_, got = m.page(t, q)
	}
	if m.begins != 1 {
		t.Errorf("the time is searched %d times", m.begins)
	}
}

// TestLongPattern matches patterns with as many stars as possible with all events of a page. A matcher whose time grows exponentially with
// the stars would not end.
func TestLongPattern(t *testing.T) {
	m := &memory{sizes: slices.Repeat([]int{10}, mostLooks)}
	q := Query{Limit: 1, Filter: Filter{Name: strings.Repeat("*p", mostPattern/2), Type: strings.Repeat("*d", mostPattern/2)}}
	if err := q.Check(""); err != nil {
		t.Fatal(err)
	}
	if seqs, got := m.page(t, q); len(seqs) > 0 || got.Looked != mostLooks {
		t.Errorf("got %v of %d events", seqs, got.Looked)
	}
}
