package projections

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// ranges is a bucket with the ranges of some indexes, and a writer.
type ranges struct {
	*bbolt.Bucket
	*writer
	tb testing.TB
}

// inTx runs f on an empty bucket that is gone after it.
func inTx(tb testing.TB, b *bbolt.DB, f func(r *ranges)) {
	tb.Helper()
	tx, err := b.Begin(true)
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback()
	rows, err := tx.CreateBucket(bucketName)
	if err != nil {
		tb.Fatal(err)
	}
	f(&ranges{rows, newWriter(), tb})
}

func mustBolt(tb testing.TB) *bbolt.DB {
	tb.Helper()
	b, err := bbolt.Open(filepath.Join(tb.TempDir(), "blocks.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.Close() })
	return b
}

// listed is an entry of an index.
type listed struct{ value, suffix string }

// add has an entry put, with its time as its value where the index has values, or taken away.
func (r *ranges) add(index byte, value string, suffix []byte, gone bool) {
	g := r.in(index, value)
	g.runs = index != createdID
	r.writer.add(g, op{key: bytes.Clone(suffix), value: bytes.Clone(suffix[:valueLength(index)]), delete: gone, border: borderAt(suffix)})
	if g.more.add(tally{count: 1}); gone {
		g.more.take(tally{count: 2})
	}
}

// write brings what was added to the bucket. The transaction goes on, and so what was written must stay.
func (r *ranges) write() error {
	defer func() { r.writer = newWriter() }()
	return r.flush(r.Bucket)
}

func (r *ranges) content() map[string]string {
	all := map[string]string{}
	must(r.tb, r.ForEach(func(k, v []byte) error { all[string(k)] = string(v); return nil }))
	return all
}

// Whatever is put and taken away, and in whatever parts, leaves the same keys as what is left put at once; and readers find it.
func TestBlocks(t *testing.T) {
	short(t)
	b := mustBolt(t)
	for _, index := range []byte{0x50, createdID} {
		for seed := range uint64(30) {
			inTx(t, b, func(r *ranges) {
				random := rand.New(rand.NewPCG(seed, 1))
				there := map[listed]bool{}
				most := 1 + random.IntN(1<<random.IntN(9))
				for range 40 {
					touched := map[listed]bool{}
					for range random.IntN(most) {
						n := random.IntN(4 * most)
						one := listed{"a", string(appendSuffix(nil, int64(n/3), uint64(n), strings.Repeat("x", n*n%300)))}
						if random.IntN(50) == 0 { // a neighbour
							one.value = []string{"", "b"}[random.IntN(2)]
						}
						if !touched[one] {
							r.add(index, one.value, []byte(one.suffix), there[one])
							there[one], touched[one] = !there[one], true
						}
					}
					must(t, r.write())
				}
				r.sameAsAtOnce(t, index, there)
			})
			if t.Failed() {
				t.Fatal("index", index, "seed", seed)
			}
		}
	}
}

// sameAsAtOnce compares a range with what is there.
func (r *ranges) sameAsAtOnce(t *testing.T, index byte, there map[listed]bool) {
	t.Helper()
	var want []string
	got := r.content()
	must(t, r.Tx().DeleteBucket(bucketName))
	rows, err := r.Tx().CreateBucket(bucketName)
	must(t, err)
	again := &ranges{rows, newWriter(), t}
	for one, is := range there {
		if is {
			again.add(index, one.value, []byte(one.suffix), false)
		}
		if is && one.value == "a" {
			want = append(want, one.suffix)
		}
	}
	must(t, again.write())
	if !maps.Equal(got, again.content()) {
		t.Error("the keys are other than those of what is left put at once")
	}
	slices.Sort(want)
	readBlocks(t, rows, appendRange(nil, index, "a"), want)
}

// readBlocks reads a range in all ways there are.
func readBlocks(t *testing.T, rows *bbolt.Bucket, prefix []byte, want []string) {
	t.Helper()
	for _, oldestFirst := range []bool{true, false} {
		for _, skip := range []int{0, 1, 2, 7, len(want) / 2, len(want) - 1, len(want)} {
			list := slices.Clone(want)
			if !oldestFirst {
				slices.Reverse(list)
			}
			var got []string
			for s, value := range entries(rows, []*extent{{prefix: prefix}}, oldestFirst, max(0, skip)) {
				if got = append(got, string(s)); !bytes.Equal(value, s[:valueLength(prefix[0])]) {
					t.Errorf("value %x of %x", value, s)
				}
			}
			if list = list[min(len(list), max(0, skip)):]; !slices.Equal(got, list) {
				t.Errorf("oldest first %t, skip %d: got %d entries, want %d", oldestFirst, skip, len(got), len(list))
			}
		}
	}
	found := newBlocks(rows, prefix)
	for i, s := range want {
		if !found.has([]byte(s)) || found.has([]byte(s+"\x00")) {
			t.Errorf("entry %d is not found, or one that is not there", i)
		}
		to := want[min(len(want)-1, i+i%50)]
		if n := countEntries(rows, prefix, []byte(s), []byte(to)); n != min(len(want)-1, i+i%50)-i {
			t.Errorf("%d entries from %d to %d", n, i, min(len(want)-1, i+i%50))
		}
	}
	if found.has([]byte("0")) || found.has(bytes.Repeat([]byte{0xff}, 20)) {
		t.Error("what lies before and behind the range is in it")
	}
}

// Runs and blocks are right where a transaction takes away all that was in some pages of the file, and more.
func TestEmptiedPages(t *testing.T) {
	short(t)
	for _, gone := range [][2]int{{300, 2700}, {0, 2000}, {1000, 3000}, {1, 2999}} {
		f := MustOpen(t, Readings)
		f.feed(t, 1000, posts(3000)...)
		must(t, f.Sync())
		removed := domain.DataEventsRemoved{}
		for _, e := range f.events[gone[0]:gone[1]] {
			removed.Events = append(removed.Events, e.Event.(domain.ReadingPosted).ID)
		}
		f.add(t, removed)
	}
}

// spoilBlock changes the last block of the list of all devices, with a checksum that is right.
func spoilBlock(spoil func([]byte) []byte) func(tx *bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		rows := tx.Bucket(bucketName)
		key, value := before(rows.Cursor(), after(appendRange(nil, devices.indexes[0].id, "")))
		return rows.Put(key, seal(key, spoil(bytes.Clone(unseal(key, value)))))
	}
}

// A block that is not as it was written is a damage, for whoever reads or writes it.
func TestDamagedBlock(t *testing.T) {
	for name, spoil := range map[string]func(b []byte) []byte{
		"cut": func(b []byte) []byte { return b[:len(b)-1] }, "empty": func([]byte) []byte { return nil },
		"without a suffix": func(b []byte) []byte { return append(b, 0) }, "short": func(b []byte) []byte { return append(b, 1, 'x') },
		"long": func(b []byte) []byte { return append(b, 0xff, 0xff, 0xff) },
	} {
		t.Run(name, func(t *testing.T) {
			f := MustOpen(t, Events)
			f.feed(t, 100, cameras(300)...)
			must(t, f.Sync())
			must(t, f.file.Update(spoilBlock(spoil)))
			v, release := f.View()
			if _, _, err := v.Devices(Page{Limit: -1}); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("list: got %v, want an error that says so", err)
			}
			if _, _, err := v.Devices(Page{Offset: 299, Limit: 1}, Label("camera")); err != nil {
				t.Errorf("list of another range: %v", err)
			}
			release()
			if err := f.write(record(301, domain.DeviceRemoved{Device: camera(299)})); name != "empty" && (err == nil || !strings.Contains(err.Error(), "damaged")) {
				t.Errorf("apply: got %v, want an error that says so", err)
			}
			f.isRebuilt(t)
		})
	}
}

func FuzzBlock(f *testing.F) {
	begin := appendSuffix(nil, 5, 6, "name")
	next := appendSuffix(nil, 7, 8, "next")
	whole := appendEntry(appendEntry(nil, nil, nil), next, nil)
	f.Add(byte(0x50), begin, whole, next, true)
	f.Add(byte(0x50), []byte{}, appendEntry(nil, next, nil), begin, false)
	f.Add(createdID, begin, appendEntry(nil, nil, next[:8]), begin, true)
	f.Add(byte(0x50), begin, whole[:9], begin, false)
	b := mustBolt(f)
	f.Fuzz(func(t *testing.T, index byte, begin, raw, suffix []byte, gone bool) {
		if index |= indexID; len(suffix) < suffixHead || len(begin) > 0 && len(begin) < suffixHead || len(begin)+len(suffix) > 2000 {
			return
		}
		inTx(t, b, func(r *ranges) {
			prefix := appendRange(nil, index, "a")
			must(t, r.Put(slices.Concat(prefix, begin), raw))
			must(t, r.Put(appendCount(nil, index, "a"), tally{count: 1}.append(nil)))
			// Whoever meets what is no block says so; who does not may read what is there.
			damaged(t, func() error { newBlocks(r.Bucket, prefix).has(suffix); return nil })
			damaged(t, func() error { countEntries(r.Bucket, prefix, suffix, nil); return nil })
			for _, oldestFirst := range []bool{true, false} {
				for _, skip := range []int{0, 3} {
					damaged(t, func() error {
						n := 0
						for s := range entries(r.Bucket, []*extent{{prefix: prefix}}, oldestFirst, skip) {
							if n++; len(s) < suffixHead || n > len(raw)+1 {
								t.Fatalf("entry %d is %x", n, s)
							}
						}
						return nil
					})
				}
			}
			r.add(index, "a", suffix, gone)
			damaged(t, r.write)
		})
	})
}

// damaged fails where f ends otherwise than well or with a damage.
func damaged(t *testing.T, f func() error) {
	t.Helper()
	if err := guarded(f); err != nil {
		if _, ok := errors.AsType[damage](err); !ok {
			t.Fatal(err)
		}
	}
}

// One entry in so many begins a block, also where they differ in little.
func TestBordersAreSpread(t *testing.T) {
	const n = 1 << 18
	for name, suffix := range map[string]func(i int) []byte{
		"in order": func(i int) []byte { return appendSuffix(nil, int64(i), uint64(i), ordered(i)) },
		"written":  func(i int) []byte { return appendSuffix(nil, 0, uint64(i), "n") },
		"one time": func(i int) []byte { return appendSuffix(nil, 1, 1, fmt.Sprint("camera-", i)) },
		"names":    func(i int) []byte { return appendSuffix(nil, int64(i)*1e6, uint64(i), camera(i).Name) },
	} {
		var count [beginsRun + 1]int
		longest, length := 0, 0
		for i := range n {
			at := borderAt(suffix(i))
			count[at]++
			if length++; at != inside {
				longest, length = max(longest, length), 0
			}
		}
		for what, test := range map[string][2]int{"blocks": {count[beginsBlock] + count[beginsRun], n / blockLength}, "runs": {count[beginsRun], n / runLength}} {
			if got, want := test[0], test[1]; got < want*7/10 || got > want*14/10 {
				t.Errorf("%s: %d %s, want about %d", name, got, what, want)
			}
		}
		if longest > 20*blockLength {
			t.Errorf("%s: a block of %d", name, longest)
		}
	}
}
