package payloads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"ledge/domain"
)

func mustOpen(tb testing.TB) *Files {
	tb.Helper()
	f, err := Open(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func names(tb testing.TB, f *Files) []string {
	tb.Helper()
	list, err := os.ReadDir(f.dir)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestPutAndGet(t *testing.T) {
	f := mustOpen(t)
	body := bytes.Repeat([]byte("ledge\x00"), 100_000)
	sum := sha256.Sum256(body)
	for range 2 { // the same body twice is one file
		digest, size, err := f.Put(t.Context(), bytes.NewReader(body), int64(len(body)))
		if err != nil || digest != hex.EncodeToString(sum[:]) || size != int64(len(body)) {
			t.Fatalf("Put = %q, %d, %v", digest, size, err)
		}
	}
	if got := names(t, f); len(got) != 1 {
		t.Fatalf("files = %v, want one", got)
	}
	r, err := f.Get(hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, _ := io.ReadAll(r); !bytes.Equal(got, body) {
		t.Fatal("read back other bytes")
	}
}

func TestPutThatFailsLeavesNothing(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("client died")
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		r     io.Reader
		limit int64
		check func(error) bool
	}{
		{"over the limit", t.Context(), bytes.NewReader(make([]byte, 11)), 10, func(err error) bool { return domain.CodeOf(err) == domain.TooLarge }},
		{"reader fails", t.Context(), io.MultiReader(bytes.NewReader(make([]byte, 9)), iotest.ErrReader(broken)), 99, func(err error) bool { return errors.Is(err, broken) }},
		{"context ended", ended, bytes.NewReader(make([]byte, 9)), 99, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t)
			if _, _, err := f.Put(tt.ctx, tt.r, tt.limit); !tt.check(err) {
				t.Fatalf("err = %v", err)
			}
			if got := names(t, f); len(got) != 0 {
				t.Fatalf("left behind: %v", got)
			}
		})
	}
}

func TestOpenRemovesWhatACrashLeft(t *testing.T) {
	f := mustOpen(t)
	if err := os.WriteFile(filepath.Join(f.dir, "incoming-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(f.dir); err != nil {
		t.Fatal(err)
	}
	if got := names(t, f); len(got) != 0 {
		t.Fatalf("left behind: %v", got)
	}
}
