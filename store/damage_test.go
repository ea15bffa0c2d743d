package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

const damagedEvents = 300 // of 64 KiB: three blocks

// mustFill makes a store of three blocks in a new folder and closes it.
func mustFill(t *testing.T) (dir string, p *storetest.Projection) {
	t.Helper()
	dir, p = t.TempDir(), storetest.NewProjection()
	s := mustOpen(t, options(dir))
	a := storetest.MustAppender(t, s.Events(), p)
	for i := range damagedEvents / 20 {
		var group []domain.Request
		for n := range 20 {
			group = append(group, storetest.AddLarge(fmt.Sprintf("s-%d-%d", i, n), 64<<10))
		}
		storetest.MustSubmit(t, a, group...)
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, p
}

func eventsDir(dir string) string { return filepath.Join(dir, "jetstream/LEDGE/streams/LEDGE_EVENTS") }

func block(dir string, n int) string {
	return filepath.Join(eventsDir(dir), "msgs", fmt.Sprintf("%d.blk", n))
}

// flip changes a byte in the middle of the text of an event, in a block at some part of its length.
func flip(t *testing.T, path string, part float64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := int(float64(len(b)) * part)
	i := bytes.Index(b[at:], []byte("xxxx"))
	b[at+i] ^= 1
	if err := os.WriteFile(path, b, 0o640); err != nil {
		t.Fatal(err)
	}
}

// Where the head of a record has a high byte of its sequence and a low one of its time.
const (
	sequenceAt = 9
	timeAt     = 12
)

// flipHead changes a bit in the head of a record of a block, from 0.
func flipHead(t *testing.T, path string, n, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record := b
	for range n {
		record = record[binary.LittleEndian.Uint32(record)&^(1<<31):]
	}
	record[at] ^= 1
	if err := os.WriteFile(path, b, 0o640); err != nil {
		t.Fatal(err)
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestDamageIsNamedAndRefused(t *testing.T) {
	source, p := mustFill(t)
	if _, err := os.Stat(block(source, 3)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		says   string // part of the error
	}{
		{"last block 10 bytes short", func(t *testing.T, dir string) {
			st, err := os.Stat(block(dir, 3))
			if err == nil {
				err = os.Truncate(block(dir, 3), st.Size()-10)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "sequence 300"},
		{"byte flipped in the first block", func(t *testing.T, dir string) { flip(t, block(dir, 1), 0.5) }, "damaged at sequence"},
		{"byte flipped in the last block", func(t *testing.T, dir string) { flip(t, block(dir, 3), 0.5) }, "damaged at sequence"},
		{"sequence flipped in the first block", func(t *testing.T, dir string) { flipHead(t, block(dir, 1), 1, sequenceAt) }, "damaged at sequence"},
		{"sequence flipped in the last block", func(t *testing.T, dir string) { flipHead(t, block(dir, 3), 1, sequenceAt) }, "damaged at sequence"},
		{"first sequence flipped in the first block", func(t *testing.T, dir string) { flipHead(t, block(dir, 1), 0, sequenceAt) }, "damaged at sequence"},
		{"first sequence flipped in the last block", func(t *testing.T, dir string) { flipHead(t, block(dir, 3), 0, sequenceAt) }, "damaged at sequence"},
		{"time flipped in the first block", func(t *testing.T, dir string) { flipHead(t, block(dir, 1), 1, timeAt) }, "damaged at sequence 2:"},
		{"time flipped in the last block", func(t *testing.T, dir string) { flipHead(t, block(dir, 3), 1, timeAt) }, "damaged at sequence 2"},
		{"first block deleted", func(t *testing.T, dir string) { mustRemove(t, block(dir, 1)) }, "damaged at sequence 1:"},
		{"middle block deleted", func(t *testing.T, dir string) { mustRemove(t, block(dir, 2)) }, "damaged at sequence 1"},
		{"last block deleted", func(t *testing.T, dir string) { mustRemove(t, block(dir, 3)) }, "damaged at sequence 2"},
		{"all blocks deleted", func(t *testing.T, dir string) { mustRemove(t, filepath.Join(eventsDir(dir), "msgs")) }, "damaged at sequence"},
		{"stream deleted", func(t *testing.T, dir string) { mustRemove(t, eventsDir(dir)) }, "damaged at sequence 1"},
	} {
		for _, index := range []bool{true, false} {
			for _, clean := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, index %t, clean stop %t", c.name, index, clean), func(t *testing.T) {
					dir := t.TempDir()
					if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
						t.Fatal(err)
					}
					c.damage(t, dir)
					if !index {
						mustRemove(t, filepath.Join(eventsDir(dir), "msgs", "index.db"))
					}
					if !clean {
						storetest.ForgetStop(t, dir)
					}
					checkpoint := p
					if clean { // then the record of the stop is checkpoint enough
						checkpoint = storetest.NewProjection()
					}
					err := serves(t, dir, checkpoint)
					if err == nil {
						t.Fatal("it is served from")
					}
					t.Log(err)
					if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "LEDGE_EVENTS") {
						t.Errorf("error %q does not say %q", err, c.says)
					}
				})
			}
		}
	}
}

// serves opens the store with a projection that has seen everything. It returns the error that refuses.
func serves(t *testing.T, dir string, p store.Projection) error {
	t.Helper()
	s, err := store.Open(t.Context(), options(dir))
	if err != nil {
		return err
	}
	defer s.Close()
	a, err := store.NewAppender(t.Context(), s.Events(), p, store.AppenderOptions{})
	if err != nil {
		return err
	}
	return a.Close()
}

// TestDamageBeforeTheTail alters an event that is not looked at before the store opens.
func TestDamageBeforeTheTail(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	storetest.MustSubmit(t, a, storetest.AddLarge("first", 1000))
	for i := range 30 { // more than is looked at before the store opens
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("a-", i), 1<<20))
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, block(o.Dir, 1), 0)

	logged := &lines{}
	o.Logger = slog.New(slog.NewTextHandler(io.Writer(logged), &slog.HandlerOptions{Level: slog.LevelError}))
	s = mustOpen(t, o)
	a, late := store.NewAppender(t.Context(), s.Events(), p, store.AppenderOptions{})
	switch {
	case late == nil:
		t.Cleanup(func() { _ = a.Close() })
	case !store.IsDamage(late): // which was found in the background before
		t.Fatal(late)
	}
	_, err := s.Events().Verify(t.Context(), nil)
	if d, ok := errors.AsType[*store.Damage](err); !ok || d.Seq != 1 {
		t.Errorf("verify: %v", err)
	}
	if err := s.Health(t.Context()); err == nil {
		t.Error("healthy")
	}
	if late == nil {
		if _, err := a.Submit(t.Context(), storetest.Add("late")); domain.CodeOf(err) != domain.Unavailable {
			t.Errorf("submit: %v", err)
		}
	}
	if err := s.Close(); err != nil { // waits for what runs in the background
		t.Fatal(err)
	}
	if n := logged.count("damaged at sequence 1"); n != 1 {
		t.Errorf("%d error lines:\n%s", n, logged.text.String())
	}
}

func TestBackgroundVerificationFindsDamage(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustSubmit(t, a, storetest.AddLarge("first", 1000))
	for i := range 30 { // more than is looked at before the store opens
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("a-", i), 1<<20))
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, block(o.Dir, 1), 0)
	s = mustOpen(t, o)
	if err := mustFail(t, s); !store.IsDamage(err) || s.Health(t.Context()) == nil {
		t.Errorf("failed with %v", err)
	}
	if _, err := store.NewAppender(t.Context(), s.Events(), storetest.NewProjection(), store.AppenderOptions{}); err == nil {
		t.Error("an appender on a damaged log")
	}
}
