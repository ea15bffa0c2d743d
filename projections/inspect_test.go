package projections

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// TestInspect holds that a file is read as it is, and not changed.
func TestInspect(t *testing.T) {
	f := MustOpen(t, Events)
	f.feed(t, 3, cameras(200)...)
	want := f.mustDump(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	defer f.open(t)
	path := f.options.Path
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inspect := func() (dump string, err error) {
		err = Inspect(f.options, func(in *Inspection) error {
			var b bytes.Buffer
			err := in.Dump(&b)
			dump = b.String()
			return err
		})
		return dump, err
	}
	if got, err := inspect(); err != nil || got != want {
		t.Errorf("%v, another dump: %v", err, got != want)
	}
	const page = 4096
	for at := 0; at+page <= len(before); at += page {
		damaged := bytes.Clone(before)
		clear(damaged[at : at+page])
		mustWriteFile(t, path, damaged)
		if got, err := inspect(); err == nil && got != want && at >= 2*page { // one of the two meta pages may be the older one
			t.Errorf("page %d zeroed: nothing is said, and the dump is another", at/page)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, damaged) {
			t.Errorf("page %d zeroed: the file is changed, %v", at/page, err)
		}
	}
	for at := 2 * page; at < len(before); at++ {
		head := at%page < 2*16 // of the page and of its first element
		stride := 1021
		if all := os.Getenv("TEST_LEDGE_FAULTS") == "all"; all && head {
			stride = 1
		} else if all || head {
			stride = 7
		}
		if at%stride != 0 {
			continue
		}
		damaged := bytes.Clone(before)
		damaged[at] ^= 4
		mustWriteFile(t, path, damaged)
		if got, err := inspect(); err == nil && got != want {
			t.Errorf("byte %d flipped: nothing is said, and the dump is another", at)
		}
	}
	for name, text := range map[string][]byte{"cut": before[:len(before)/2], "garbage": bytes.Repeat([]byte("garbage "), 2000)} {
		mustWriteFile(t, path, text)
		if _, err := inspect(); err == nil || errors.Is(err, ErrUnused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustWriteFile(t, path, nil)
	if _, err := inspect(); !errors.Is(err, ErrUnused) {
		t.Errorf("empty: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	unfinished, err := bbolt.Open(path, 0o600, nil)
	if err != nil || unfinished.Close() != nil {
		t.Fatal(err)
	}
	if _, err := inspect(); !errors.Is(err, ErrUnused) {
		t.Errorf("not made to the end: %v", err)
	}
	o := f.options
	o.Path = filepath.Join(t.TempDir(), "none")
	if err := Inspect(o, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	mustWriteFile(t, path, before)
}

func mustWriteFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
