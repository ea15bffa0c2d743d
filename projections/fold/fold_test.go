package fold

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// thing is an entity of these tests, and part is a part of one.
type thing struct {
	Name, Text, Group string
	Labels            []string
	Modified, Created int64
	Parts             []string
}

type part struct {
	Of       string
	At, Size int64
}

func asJSON[S any]() Codec[S] {
	return Codec[S]{
		Encode: func(dst *bytes.Buffer, s *S) error {
			b, err := json.Marshal(s)
			dst.Write(b)
			return err
		},
		Decode: func(_, b []byte) (s S, err error) {
			err = json.Unmarshal(b, &s)
			return s, err
		},
	}
}

func appendSize(dst []byte, s part) []byte { return fmt.Append(dst, s.Size) }

var (
	things = &Table[thing]{ID: 0x08, Name: "things", Codec: asJSON[thing](), Indexes: []Index[thing]{
		{0x40, All, nil, func(s thing) int64 { return s.Modified }, nil},
		{0x41, "label", func(dst []string, s thing) []string { return append(dst, s.Labels...) }, nil, nil},
		{0x42, "group", func(dst []string, s thing) []string { return append(dst, s.Group) }, nil, nil},
		{0x43, Created, nil, func(s thing) int64 { return s.Created }, nil},
		{0x44, Written, nil, func(thing) int64 { return 0 }, nil},
	}, Parts: func(f *Forgetting, s thing) (n int) {
		for _, name := range s.Parts {
			if parts.Forget(f, name) {
				n++
			}
		}
		return n
	}}
	parts = &Table[part]{ID: 0x09, Name: "parts", Codec: asJSON[part](), Shift: 2, Weigh: func(s part) int64 { return s.Size }, Indexes: []Index[part]{
		{0x50, All, nil, func(s part) int64 { return s.At }, nil},
		{0x51, "of", func(dst []string, s part) []string { return append(dst, s.Of) }, nil, appendSize},
	}}
	numbers = &Table[int]{ID: 0x0a, Name: "numbers", Codec: asJSON[int]()}
	tables  = []AnyTable{things, parts, numbers}
)

// step is what an event does.
type step interface{ fold(b *Batch) }

type (
	put   struct{ thing }
	gone  struct{ name string }
	piece struct {
		name string
		part
	}
	lost  struct{ name string }
	count struct{}
)

func (c put) fold(b *Batch)   { things.In(b).Put(c.Name, c.thing) }
func (c gone) fold(b *Batch)  { things.In(b).Delete(c.name) }
func (c piece) fold(b *Batch) { parts.In(b).Put(c.name, c.part) }
func (c lost) fold(b *Batch)  { parts.In(b).Delete(c.name) }
func (count) fold(b *Batch) {
	n, _ := numbers.In(b).Get("events")
	numbers.In(b).Put("events", n+1)
}

type event struct {
	Checkpoint
	step
}

type events []event

func (e events) Len() int                { return len(e) }
func (e events) At(i int) Checkpoint     { return e[i].Checkpoint }
func (e events) Fold(b *Batch) func(int) { return func(i int) { e[i].fold(b) } }

func chainOf(seq uint64) (chain [32]byte) {
	copy(chain[:], fmt.Sprintf("chain of event %d", seq))
	return chain
}

// record makes events from a sequence on.
func record(seq uint64, changes ...step) (list events) {
	for i, c := range changes {
		at := seq + uint64(i)
		list = append(list, event{Checkpoint{at, chainOf(at)}, c})
	}
	return list
}

func item(n int) thing {
	return thing{
		Name: fmt.Sprintf("thing-%05d", n), Text: strings.Repeat("text ", 20), Group: fmt.Sprint("group-", n%7),
		Labels: []string{"thing", fmt.Sprint("site-", n%5)}, Modified: int64(1000 + n), Created: int64(n % 50),
	}
}

// items adds so many things, from event 1 on.
func items(n int) events {
	var list []step
	for i := range n {
		list = append(list, put{item(i)})
	}
	return record(1, list...)
}

// fed is a file that remembers what it was given.
type fed struct {
	*DB
	options Options
	logged  *bytes.Buffer
	told    chan error // what Options.Failed was called with
	events  events
}

// mustOpen opens a file in a folder of its own. When the test ends, it is folded from its first event, in one batch, into a second file, and both
// are compared.
func mustOpen(tb testing.TB) *fed {
	tb.Helper()
	logged := &bytes.Buffer{}
	f := &fed{logged: logged, told: make(chan error, 1000), options: Options{
		Path: filepath.Join(tb.TempDir(), "state.db"), Name: "tests", Tables: tables, Logger: slog.New(slog.NewTextHandler(&locked{w: logged}, nil)),
	}}
	f.options.Failed = func(err error) { f.told <- err }
	f.open(tb)
	tb.Cleanup(func() {
		if tb.Failed() {
			return
		}
		got := f.mustDump(tb)
		must(tb, f.Close())
		sameDump(tb, got, f.rebuilt(tb, f.events))
		f.open(tb)
		sameDump(tb, f.mustDump(tb), got)
		must(tb, f.Close())
	})
	return f
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// open opens the file again, as it stands.
func (f *fed) open(tb testing.TB) {
	tb.Helper()
	d, err := Open(f.options)
	must(tb, err)
	f.DB = d
}

// reopen closes f and opens it again with limits.
func (f *fed) reopen(tb testing.TB, l Limits) {
	tb.Helper()
	must(tb, f.Close())
	f.options.Limits = l
	f.open(tb)
}

// damages returns what Options.Failed was called with since the last call.
func (f *fed) damages() (list []error) {
	for len(f.told) > 0 {
		list = append(list, <-f.told)
	}
	return list
}

// feed applies events in batches of size.
func (f *fed) feed(tb testing.TB, size int, list ...event) {
	tb.Helper()
	for batch := range slices.Chunk(list, size) {
		must(tb, f.Apply(events(batch)))
	}
	f.events = append(f.events, list...)
}

// add applies events that follow what was applied.
func (f *fed) add(tb testing.TB, changes ...step) {
	tb.Helper()
	f.feed(tb, 1, record(uint64(len(f.events)+1), changes...)...)
}

// write applies events and has them written.
func (f *fed) write(list events) error {
	if err := f.Apply(list); err != nil {
		return err
	}
	return f.Sync()
}

// Sync writes everything that was applied to the disk.
func (f *fed) Sync() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.flushWriting(f.at().Seq)
}

func (f *fed) mustDump(tb testing.TB) string {
	tb.Helper()
	var b strings.Builder
	must(tb, f.Dump(&b))
	return b.String()
}

// rebuilt returns the dump of a file that got the events in one batch.
func (f *fed) rebuilt(tb testing.TB, list events) string {
	tb.Helper()
	o := f.options
	o.Path, o.Limits, o.Failed = filepath.Join(tb.TempDir(), "rebuilt.db"), Limits{Events: 1}, nil
	d, err := Open(o)
	must(tb, err)
	defer d.Close()
	must(tb, d.Apply(list))
	return (&fed{DB: d}).mustDump(tb)
}

func sameDump(tb testing.TB, got, want string) {
	tb.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			tb.Fatalf("dumps differ at line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	tb.Fatalf("dumps differ: %d lines, want %d", len(g), len(w))
}

func (f *fed) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s\n%s", what, f.logged)
		}
	}
}

func isBroken(err error) bool {
	_, ok := errors.AsType[*Broken](err)
	return ok
}

// rows returns the things of a view.
func (f *fed) rows() (Rows[thing], func()) {
	v, release := f.View()
	return things.Rows(v), release
}

func list(v *View, p Page, filters ...Filter) ([]thing, int, error) {
	return things.List(v, p, filters)
}

func is(index, value string) Filter { return Filter{Index: index, Value: value} }
