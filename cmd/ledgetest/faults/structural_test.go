package faults

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ledge/cmd/ledgetest"
)

// wound is where a folder is damaged: at a file, with others of its kind and an older folder at hand.
type wound struct {
	dir, older, file string
	similar          []string
	random           *rand.Rand
}

func (w wound) path(rel string) string { return filepath.Join(w.dir, rel) }

// alter changes the content of the file.
func (w wound) alter(tb testing.TB, change func([]byte) []byte) {
	tb.Helper()
	ledgetest.Alter(tb, w.path(w.file), change)
}

// other is a file of the same kind, or the file itself where it is the only one.
func (w wound) other() string {
	if len(w.similar) == 0 {
		return w.file
	}
	return w.similar[w.random.IntN(len(w.similar))]
}

func (w wound) place(length int) int { return w.random.IntN(max(length, 1)) }

var structural = []struct {
	name string
	do   func(testing.TB, wound)
}{
	{"delete", func(tb testing.TB, w wound) { ledgetest.Remove(tb, w.path(w.file)) }},
	{"truncate", func(tb testing.TB, w wound) {
		w.alter(tb, func(b []byte) []byte { return b[:w.place(len(b))] })
	}},
	{"cut the last bytes off", func(tb testing.TB, w wound) {
		w.alter(tb, func(b []byte) []byte { return b[:max(0, len(b)-1-w.random.IntN(100))] })
	}},
	{"empty", func(tb testing.TB, w wound) { w.alter(tb, func([]byte) []byte { return nil }) }},
	{"swap", func(tb testing.TB, w wound) {
		other := w.other()
		old := ledgetest.MustRead(tb, w.path(other))
		w.alter(tb, func(b []byte) []byte {
			ledgetest.Alter(tb, w.path(other), func([]byte) []byte { return b })
			return []byte(old)
		})
	}},
	{"replace by another of its kind", func(tb testing.TB, w wound) {
		other := ledgetest.MustRead(tb, w.path(w.other()))
		w.alter(tb, func([]byte) []byte { return []byte(other) })
	}},
	{"double", func(tb testing.TB, w wound) {
		b, name := ledgetest.MustRead(tb, w.path(w.file)), "copy"+filepath.Ext(w.file)
		if filepath.Ext(w.file) == ".blk" {
			name = strconv.Itoa(3+w.random.IntN(3)) + ".blk"
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(w.path(w.file)), name), []byte(b), 0o600); err != nil {
			tb.Fatal(err)
		}
	}},
	{"zero a page", func(tb testing.TB, w wound) {
		w.alter(tb, func(b []byte) []byte {
			from := w.place(len(b)) / 4096 * 4096
			clear(b[from:min(from+4096, len(b))])
			return b
		})
	}},
	{"overwrite a sector", func(tb testing.TB, w wound) {
		w.alter(tb, func(b []byte) []byte {
			from := w.place(len(b)) / 512 * 512
			for i := from; i < min(from+512, len(b)); i++ {
				b[i] = byte(w.random.Uint32())
			}
			return b
		})
	}},
	{"append to", func(tb testing.TB, w wound) {
		w.alter(tb, func(b []byte) []byte { return append(b, bytes.Repeat([]byte("garbage "), 1+w.random.IntN(600))...) })
	}},
	{"put an older copy back of", func(tb testing.TB, w wound) {
		b, err := os.ReadFile(filepath.Join(w.older, w.file))
		if err == nil {
			w.alter(tb, func([]byte) []byte { return b })
		}
	}},
	{"take a piece out of", func(tb testing.TB, w wound) {
		w.alter(tb, func(b []byte) []byte {
			from := w.place(len(b))
			return append(b[:from:from], b[min(len(b), from+1+w.random.IntN(5000)):]...)
		})
	}},
}
