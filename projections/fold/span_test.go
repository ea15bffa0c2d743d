package fold

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// inTx runs f on an empty bucket that is gone after it.
func inTx(tb testing.TB, f func(rows *bbolt.Bucket)) {
	tb.Helper()
	b, err := bbolt.Open(filepath.Join(tb.TempDir(), "spans.db"), 0o600, &bbolt.Options{NoSync: true})
	must(tb, err)
	defer b.Close()
	tx, err := b.Begin(true)
	must(tb, err)
	defer tx.Rollback()
	rows, err := tx.CreateBucket(bucketName)
	must(tb, err)
	f(rows)
}

// A span has the entries between its bounds, from either end, with or without an offset, and counts them; so do entries that are looked up. Around
// the span are others.
func TestSpans(t *testing.T) {
	usual := walkedOver
	t.Cleanup(func() { walkedOver = usual })
	walkedOver = 1
	for seed := range uint64(20) {
		inTx(t, func(rows *bbolt.Bucket) {
			r := rand.New(rand.NewPCG(seed, 3))
			shift := uint(r.IntN(5))
			add := func(w *writer, value string, suffix []byte, gone bool) {
				prefix := appendRange(nil, 0x70, value)
				more := tally{count: 1}
				if gone {
					more.count = -1
				}
				w.count(appendBucket(nil, prefix, bucketOf(suffix, shift)), more)
				w.count(appendCount(nil, 0x70, value), more)
				if key := append(prefix, suffix...); gone {
					w.delete(key)
				} else {
					w.put(key, seal(key, nil), true)
				}
			}
			there := map[string]bool{}
			for range 4 { // with what was taken away by an earlier flush: bbolt's pages may be empty
				w, gone := newWriter(), r.IntN(2) == 0
				for range r.IntN(300) {
					suffix := suffixOf(int64(r.IntN(64))-8, uint64(r.IntN(30)), fmt.Append(nil, "name"))
					if there[string(suffix)] == gone {
						add(w, "v", suffix, gone)
						add(w, "w", suffix, gone)
						there[string(suffix)] = !gone
					}
				}
				must(t, w.flush(rows))
			}
			var sorted [][]byte
			for suffix, is := range there {
				if is {
					sorted = append(sorted, []byte(suffix))
				}
			}
			slices.SortFunc(sorted, bytes.Compare)
			for range 50 {
				from, to := int64(r.IntN(80))-16, int64(r.IntN(80))-16
				s := span{prefix: appendRange(nil, 0x70, "v"), shift: shift, total: int(tallyAt(rows, 0x70, "v").count)}
				if s.total != len(sorted) {
					t.Fatalf("%d entries, want %d", s.total, len(sorted))
				}
				want := slices.Clone(sorted)
				if r.IntN(4) > 0 {
					s.from, s.to = appendTime(nil, from), appendTime(nil, to+1)
					want = slices.DeleteFunc(want, func(x []byte) bool { return timeOf(x) < from || timeOf(x) > to })
				}
				if n := s.count(rows); n != len(want) {
					t.Fatalf("%d to %d, buckets of 2^%d: %d entries, want %d", from, to, shift, n, len(want))
				}
				oldestFirst := r.IntN(2) == 0
				if !oldestFirst {
					slices.Reverse(want)
				}
				skip := r.IntN(len(want) + 2)
				p := newProbe(rows, appendRange(nil, 0x70, "w"))
				var got [][]byte
				for suffix := range entries(rows, []*span{&s}, oldestFirst, skip) {
					if !p.has(suffix, oldestFirst) || p.has(suffixOf(timeOf(suffix), 99, nil), oldestFirst) {
						t.Fatal("a lookup finds what is not there, or not what is")
					}
					got = append(got, bytes.Clone(suffix))
				}
				if !slices.EqualFunc(got, want[min(skip, len(want)):], bytes.Equal) {
					t.Fatalf("%d to %d, buckets of 2^%d, without %d: %d entries, want %d", from, to, shift, skip, len(got), len(want)-skip)
				}
			}
		})
	}
}
