package fold

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// history makes events by chance, and knows what they lead to.
type history struct {
	*rand.Rand
	all    events
	things map[string]thing
	parts  map[string]part
	puts   map[string]uint64 // table and name → the event that put it last
	count  int
}

func newHistory(seed uint64) *history {
	return &history{Rand: rand.New(rand.NewPCG(seed, 1)), things: map[string]thing{}, parts: map[string]part{}, puts: map[string]uint64{}}
}

// next makes an event more.
func (h *history) next() event {
	seq := uint64(len(h.all) + 1)
	e := event{Checkpoint{seq, chainOf(seq)}, h.step(seq)}
	h.all = append(h.all, e)
	return e
}

func (h *history) many(n int) events {
	for range n {
		h.next()
	}
	return h.all
}

func (h *history) step(seq uint64) step {
	n := h.IntN(60)
	name := item(n).Name
	switch roll := h.IntN(12); {
	case roll == 0:
		h.count++
		return count{}
	case roll < 3:
		p := piece{fmt.Sprint("part-", h.IntN(40)), part{Of: name, At: int64(h.IntN(30)) - 5, Size: int64(h.IntN(100))}}
		h.parts[p.name], h.puts["parts "+p.name] = p.part, seq
		return p
	case roll == 3:
		p := fmt.Sprint("part-", h.IntN(40))
		delete(h.parts, p)
		return lost{p}
	case roll < 6:
		delete(h.things, name)
		return gone{name}
	}
	s := item(n)
	s.Labels = nil
	for range h.IntN(4) {
		s.Labels = append(s.Labels, fmt.Sprint("label-", h.IntN(5))) // now and then one twice
	}
	s.Modified, s.Created, s.Group = int64(h.IntN(30))-3, int64(h.IntN(30)), fmt.Sprint("group-", h.IntN(3))
	h.things[name], h.puts["things "+name] = s, seq
	return put{s}
}

// upTo returns the history of the first events.
func (h *history) upTo(seq uint64) *history {
	past := newHistory(0)
	for _, e := range h.all[:seq] {
		past.all = append(past.all, e)
		switch s := e.step.(type) {
		case put:
			past.things[s.Name], past.puts["things "+s.Name] = s.thing, e.Seq
		case gone:
			delete(past.things, s.name)
		case piece:
			past.parts[s.name], past.puts["parts "+s.name] = s.part, e.Seq
		case lost:
			delete(past.parts, s.name)
		case count:
			past.count++
		}
	}
	return past
}

// wanted lists the names of what is kept, newest first.
func wanted[S any](h *history, table string, all map[string]S, at func(S) int64, keep func(S) bool) []string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(name string) bool { return !keep(all[name]) })
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(at(all[b]), at(all[a])), cmp.Compare(h.puts[table+" "+b], h.puts[table+" "+a]), cmp.Compare(b, a))
	})
	return names
}

// question is a query, and what it keeps.
type question[S any] struct {
	filters []Filter
	at      func(S) int64
	keep    func(S) bool
}

func between(from, to int64) Filter { return Filter{Index: Time, From: from, To: to} }

func modified(s thing) int64 { return s.Modified }
func created(s thing) int64  { return s.Created }
func at(p part) int64        { return p.At }

var ofThings = []question[thing]{
	{nil, modified, func(thing) bool { return true }},
	{[]Filter{is("label", "label-1")}, modified, func(s thing) bool { return slices.Contains(s.Labels, "label-1") }},
	{[]Filter{is("label", "label-1"), is("group", "group-2")}, modified, func(s thing) bool { return slices.Contains(s.Labels, "label-1") && s.Group == "group-2" }},
	{[]Filter{{Index: "group", Any: []string{"group-0", "nosuch", "group-2"}}}, modified, func(s thing) bool { return s.Group != "group-1" }},
	{[]Filter{{Index: "label", Value: "label-3", Without: true}}, modified, func(s thing) bool { return !slices.Contains(s.Labels, "label-3") }},
	{[]Filter{between(5, 15)}, created, func(s thing) bool { return s.Created >= 5 && s.Created <= 15 }},
	{[]Filter{is("group", "group-1"), between(5, 15)}, created, func(s thing) bool { return s.Group == "group-1" && s.Created >= 5 && s.Created <= 15 }},
	{[]Filter{is("group", "nosuch")}, modified, func(thing) bool { return false }},
}

var ofParts = []question[part]{
	{nil, at, func(part) bool { return true }},
	{[]Filter{between(0, 20)}, at, func(p part) bool { return p.At >= 0 && p.At <= 20 }},
	{[]Filter{between(math.MinInt64, math.MaxInt64)}, at, func(part) bool { return true }},
	{[]Filter{is("of", item(7).Name)}, at, func(p part) bool { return p.Of == item(7).Name }},
	{[]Filter{is("of", item(7).Name), between(-3, 11)}, at, func(p part) bool { return p.Of == item(7).Name && p.At >= -3 && p.At <= 11 }},
}

// ask compares the answers of a table with those of the model, on pages of several sizes.
func ask[S any](t *testing.T, v *View, table *Table[S], h *history, all map[string]S, questions []question[S]) {
	t.Helper()
	for i, q := range questions {
		want := wanted(h, table.Name, all, q.at, q.keep)
		for _, p := range []Page{{0, 1000}, {0, 3}, {len(want) / 2, 5}, {max(0, len(want)-2), 2}} {
			names, total, err := table.Keys(v, nil, p, q.filters)
			if err != nil || total != len(want) || !slices.Equal(names, want[p.Offset:min(len(want), p.Offset+p.Limit)]) {
				t.Fatalf("%s, question %d, %+v: got %v of %d, %v, want %v", table.Name, i, p, names, total, err, want)
			}
		}
	}
}

// compare compares everything that a file says with the model.
func (f *fed) compare(t *testing.T, h *history) {
	t.Helper()
	v, release := f.View()
	defer release()
	rows, count := things.Rows(v), numbers.Rows(v)
	for n := range 60 {
		name := item(n).Name
		want, there := h.things[name]
		if got, ok := rows.Get(name); ok != there || fmt.Sprint(got) != fmt.Sprint(want) || there && rows.Revision(name) != h.puts["things "+name] {
			t.Fatalf("%s: got %t %v of %d, want %t %v of %d", name, ok, got, rows.Revision(name), there, want, h.puts["things "+name])
		}
	}
	if n, _ := count.Get("events"); n != h.count {
		t.Fatalf("counted %d, want %d", n, h.count)
	}
	ask(t, v, things, h, h.things, ofThings)
	ask(t, v, parts, h, h.parts, ofParts)
	var weight int64
	for _, p := range h.parts {
		if p.Of == item(7).Name {
			weight += p.Size
		}
	}
	must(t, v.Read(func() error {
		noted := int64(0)
		for after, more := (Entry{}), true; more; {
			notes, err := Notes(v, parts, Filter{Index: "of", Value: item(7).Name, From: math.MinInt64, To: math.MaxInt64}, after)
			must(t, err)
			more = false
			for entry, note := range notes {
				size, err := strconv.ParseInt(string(note), 10, 64)
				must(t, err)
				noted, after, more = noted+size, EntryAt(entry.Place()), true
				break // the next one is asked for by its place
			}
		}
		if noted != weight {
			t.Errorf("the notes of the parts of %s are %d, want %d", item(7).Name, noted, weight)
		}
		values, err := parts.Values(v, "of", item(6).Name)
		for value := range values {
			if string(value.text) == item(7).Name && value.Weight != weight {
				t.Errorf("parts of %s weigh %d, want %d", value.text, value.Weight, weight)
			}
		}
		return err
	}))
}

// abandon lets go of the file as a process does that is killed: nothing more is written.
func (f *fed) abandon(tb testing.TB) {
	tb.Helper()
	f.once.Do(func() { close(f.stop) })
	f.tasks.Wait()
	f.writing.Lock()
	defer f.writing.Unlock()
	must(tb, f.file.close())
}

// replay does what each byte says with a file and its model: an event, a flush, a look, a restart, or a kill, after which it goes on behind the checkpoint.
func replay(t *testing.T, f *fed, h *history, bytes []byte) {
	t.Helper()
	for _, b := range bytes {
		switch b % 16 {
		case 0:
			must(t, f.Sync())
		case 1:
			f.compare(t, h.upTo(uint64(len(f.events))))
		case 2:
			f.reopen(t, f.options.Limits)
		case 3:
			f.abandon(t)
			f.open(t)
			seq, chain := f.Checkpoint()
			if seq > 0 && chain != chainOf(seq) || seq > uint64(len(f.events)) {
				t.Fatalf("at %d %x after %d", seq, chain, len(f.events))
			}
			f.events = f.events[:seq]
		default:
			for range b/16 + 1 { // in a batch; what a kill has lost comes again
				for len(h.all) <= len(f.events)+int(b/16) {
					h.next()
				}
			}
			f.feed(t, int(b/16)+1, h.all[len(f.events):len(f.events)+int(b/16)+1]...)
		}
	}
	f.compare(t, h.upTo(uint64(len(f.events))))
}

// TestModel compares a file with a map, through flushes, restarts and kills.
func TestModel(t *testing.T) {
	usual := walkedOver
	t.Cleanup(func() { walkedOver = usual })
	walkedOver = 3
	for seed := range uint64(6) {
		f, h := mustOpen(t), newHistory(seed)
		f.reopen(t, Limits{After: time.Hour, Events: 1 + 40*int(seed%3)})
		steps := make([]byte, 150)
		for i := range steps {
			steps[i] = byte(h.IntN(256))
		}
		replay(t, f, h, steps)
	}
}

// FuzzModel is [TestModel] with any steps.
func FuzzModel(f *testing.F) {
	f.Add(uint64(1), []byte{4, 0, 68, 3, 1, 255, 2, 20, 3, 36, 1})
	f.Fuzz(func(t *testing.T, seed uint64, steps []byte) {
		fed, h := mustOpen(t), newHistory(seed)
		fed.reopen(t, Limits{After: time.Hour, Events: 5})
		replay(t, fed, h, steps[:min(len(steps), 60)])
	})
}

// FuzzNames holds that names of any bytes are told apart, and come back if they are not too long.
func FuzzNames(f *testing.F) {
	f.Add("a", "b")
	f.Add("018bcfe5-6800-7abc-8def-0123456789ab", "018BCFE5-6800-7abc-8def-0123456789ab")
	f.Fuzz(func(t *testing.T, a, b string) {
		ka, kb := appendName(nil, a), appendName(nil, b)
		if (a == b) != (string(ka) == string(kb)) {
			t.Errorf("%q and %q: %x and %x", a, b, ka, kb)
		}
		if IsWhole(a) && NameIn(ka) != a || NameIn(PackName(a)) != a {
			t.Errorf("%q came back as %q and %q", a, NameIn(ka), NameIn(PackName(a)))
		}
	})
}
