package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"ledge/store"
	"ledge/store/storetest"
)

// fillSmall makes a log of three blocks, each with a few small events: the first ones of the first block, the second to fourth
// of the next, and the last ones of the last. It returns the sequence of one of those in each block.
func fillSmall(t *testing.T, s *store.Store, dir string) (small [3]uint64) {
	t.Helper()
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	for n := range small {
		for i := 0; n > 0; i++ {
			if _, err := os.Stat(block(dir, n+1)); err == nil {
				break
			}
			storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprintf("l-%d-%d", n, i), 64<<10))
		}
		small[n] = storetest.MustAdd(t, a, fmt.Sprint("s-", n), 3)[n].Seq
	}
	return small
}

// record returns where in a block the record of an event begins and ends; of sequence 0, the first one.
func record(t *testing.T, b []byte, seq uint64) (from, to int) {
	t.Helper()
	for from < len(b) {
		to = from + int(binary.LittleEndian.Uint32(b[from:])&^(1<<31))
		if seq == 0 || binary.LittleEndian.Uint64(b[from+4:]) == seq {
			return from, to
		}
		from = to
	}
	t.Fatalf("no record of %d", seq)
	return 0, 0
}

// last returns the sequence of the last record of a block.
func last(b []byte) (seq uint64) {
	for at := 0; at < len(b); at += int(binary.LittleEndian.Uint32(b[at:]) &^ (1 << 31)) {
		seq = binary.LittleEndian.Uint64(b[at+4:])
	}
	return seq
}

// TestEveryByteIsVerified flips each byte of a record in the first block, in one in the middle and at the end of the last
// one, and those at both ends of the first and the last record of the block, while the server runs and has them in its cache.
// None is harmless.
func TestEveryByteIsVerified(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, options(dir))
	for n, small := range fillSmall(t, s, dir) {
		f, err := os.OpenFile(block(dir, n+1), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range []uint64{0, small, last(b)} {
			from, to := record(t, b, seq)
			for at := from; at < to; at++ {
				if seq != small && at == from+80 {
					at = to - 16
				}
				flipAndRead(t, s.Events(), f, b, from, at)
			}
		}
	}
	if _, err := s.Events().Verify(t.Context(), nil); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

// flipAndRead alters a byte of a block, b, in the record that begins at from, in two ways, and writes it as it was again.
func flipAndRead(t *testing.T, l *store.Log, f *os.File, b []byte, from, at int) {
	t.Helper()
	seq := binary.LittleEndian.Uint64(b[from+4:])
	for _, bit := range []byte{0x01, 0x80} {
		mustWriteAt(t, f, b[at]^bit, at)
		var err error
		for _, err = range l.ReadRaw(t.Context(), seq, seq) {
		}
		if !damagedAt(err, seq) {
			t.Errorf("%s, record of %d, byte %d ^ %#x: read: %v", f.Name(), seq, at-from, bit, err)
		}
		if at%16 != 0 {
			continue
		}
		if _, _, err := l.EventAt(t.Context(), seq); !damagedAt(err, seq) {
			t.Errorf("%s, record of %d, byte %d ^ %#x: event at: %v", f.Name(), seq, at-from, bit, err)
		}
	}
	mustWriteAt(t, f, b[at], at)
}

func damagedAt(err error, seq uint64) bool {
	d, ok := errors.AsType[*store.Damage](err)
	return ok && d.Seq == seq
}

// TestForeignBlocks holds that the server compresses no blocks, whatever it was told, and that a start refuses a compressed or encrypted
// block.
func TestForeignBlocks(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	if err := s.Events().Compress(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, o) // it would do so from its next start on
	fillSmall(t, s, o.Dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := block(o.Dir, 2)
	whole, err := os.ReadFile(path)
	if err != nil || bytes.HasPrefix(whole, []byte("cmp")) {
		t.Fatalf("compressed: %.10q, %v", whole, err)
	}
	key := strings.TrimSuffix(path, "blk") + "key"
	for name, change := range map[string]func(){
		"compressed": func() { mustWrite(t, path, append([]byte("cmp\x01"), whole[4:]...)) },
		"encrypted":  func() { mustWrite(t, path, whole); mustWrite(t, key, nil) },
	} {
		change()
		if _, err := store.Open(t.Context(), o); !store.IsDamage(err) || !strings.Contains(err.Error(), "2.blk is compressed or encrypted") {
			t.Errorf("%s: %v", name, err)
		}
		_ = os.Remove(key)
	}
}

func mustWriteAt(t *testing.T, f *os.File, c byte, at int) {
	t.Helper()
	if _, err := f.WriteAt([]byte{c}, int64(at)); err != nil {
		t.Fatal(err)
	}
}
