package payloads

import (
	"bytes"
	"io"
	"os"
	"testing"

	"ledge/domain"
)

// mustFlip changes one byte of a file.
func mustFlip(tb testing.TB, path string, at int) {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func mustPut(tb testing.TB, f *Files, body []byte) (digest string) {
	tb.Helper()
	digest, _, err := f.Put(tb.Context(), bytes.NewReader(body), 1<<30)
	if err != nil {
		tb.Fatal(err)
	}
	return digest
}

// readFrom reads a payload from an offset to its end.
func readFrom(tb testing.TB, f *Files, digest string, offset int64) ([]byte, error) {
	tb.Helper()
	r, err := f.Get(digest)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Seek(offset, io.SeekStart); err != nil {
		tb.Fatal(err)
	}
	return io.ReadAll(r)
}

// Whatever byte of a payload is altered, and wherever a read begins: it fails before it gives all that it is asked for.
func TestAlteredPayloadIsNotRead(t *testing.T) {
	for _, size := range []int{1, 1000, checkedBlock, 3*checkedBlock + 7} {
		body := sample(size)
		for _, at := range []int{0, size / 2, size - 1} {
			f := mustOpen(t)
			digest := mustPut(t, f, body)
			mustFlip(t, f.path(digest), at)
			for _, offset := range []int64{0, int64(size) / 3, int64(size) - 1} {
				got, err := readFrom(t, f, digest, offset)
				if domain.CodeOf(err) != domain.Damaged || len(got) >= size-int(offset) {
					t.Errorf("%d bytes, byte %d altered, read from %d: got %d bytes, %v", size, at, offset, len(got), err)
				}
			}
			if f.Damaged() == 0 {
				t.Error("not counted")
			}
			mustPut(t, f, body)
			if got, err := readFrom(t, f, digest, 0); err != nil || !bytes.Equal(got, body) {
				t.Errorf("posted again: %v", err)
			}
		}
	}
}

// What is altered after the checks of its blocks are in memory is found, and what is shortened.
func TestAlteredAfterItWasChecked(t *testing.T) {
	f, body := mustOpen(t), sample(3*checkedBlock+7)
	digest := mustPut(t, f, body)
	if got, err := readFrom(t, f, digest, 100); err != nil || !bytes.Equal(got, body[100:]) {
		t.Fatal(err)
	}
	mustFlip(t, f.path(digest), checkedBlock+5)
	if got, err := readFrom(t, f, digest, 1); domain.CodeOf(err) != domain.Damaged || len(got) != checkedBlock-1 {
		t.Errorf("altered: got %d bytes, %v", len(got), err)
	}
	if got, err := readFrom(t, f, digest, 2*checkedBlock); err != nil || !bytes.Equal(got, body[2*checkedBlock:]) {
		t.Errorf("behind what is altered: %v", err)
	}
	r, err := f.Get(digest)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(f.path(digest), checkedBlock); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); domain.CodeOf(err) != domain.Damaged {
		t.Errorf("shortened: %v", err)
	}
}

// A reader that goes here and there gets what is there, with the checks in memory or not.
func TestReadHereAndThere(t *testing.T) {
	f, body := mustOpen(t), sample(2*checkedBlock+100)
	digest := mustPut(t, f, body)
	r, err := f.Get(digest)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, at := range []int{0, 10, 2 * checkedBlock, 5, checkedBlock - 3, 0, 2*checkedBlock + 90} {
		if _, err := r.Seek(int64(at), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 10)
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, body[at:at+10]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

// The checks in memory have a bound.
func TestChecksAreBounded(t *testing.T) {
	var c checks
	for _, name := range []string{"a", "b", "c"} {
		c.put(name, make([]uint32, mostChecks/2))
	}
	c.put("too large", make([]uint32, mostChecks+1))
	if c.count > mostChecks || len(c.blocks) > 2 {
		t.Errorf("%d blocks of %d payloads", c.count, len(c.blocks))
	}
}
