package payloads_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"testing"
	"testing/iotest"

	"ledge/domain"
	"ledge/store/payloads"
)

// folder is a payload folder with what is open on it.
type folder struct {
	*payloads.Files
	dir string
}

// Left counts the files in the folder, whatever their names.
func (f folder) Left(tb testing.TB) int {
	tb.Helper()
	list, err := os.ReadDir(f.dir)
	if err != nil {
		tb.Fatal(err)
	}
	return len(list)
}

// TestFiles checks what the methods of Files promise, each on an empty folder.
func TestFiles(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, folder)
	}{
		{"put and get", putAndGet},
		{"the same twice", theSameTwice},
		{"seek", seek},
		{"a put that fails leaves nothing", failedPut},
		{"nothing of that name", nothing},
		{"collect", collect},
		{"collect fails", collectFails},
		{"holds", holds},
		{"collect beside puts", collectBesidePuts},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := payloads.Open(dir, payloads.Options{})
			if err != nil {
				t.Fatal(err)
			}
			test.run(t, folder{f, dir})
		})
	}
}

// body returns n bytes that differ from place to place and from seed to seed.
func body(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16) ^ byte(i>>8)*31 ^ byte(i) + seed
	}
	return b
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mustPut(tb testing.TB, s folder, b []byte) (digest string) {
	tb.Helper()
	digest, size, err := s.Put(tb.Context(), bytes.NewReader(b), int64(len(b)))
	if err != nil || digest != digestOf(b) || size != int64(len(b)) {
		tb.Fatalf("put %d bytes: got %q, %d, %v", len(b), digest, size, err)
	}
	return digest
}

func mustGet(tb testing.TB, s folder, digest string) io.ReadSeekCloser {
	tb.Helper()
	r, err := s.Get(digest)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r
}

func isThere(tb testing.TB, s folder, digest string) bool {
	tb.Helper()
	r, err := s.Get(digest)
	if err == nil {
		r.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return err == nil
}

// putAndGet has sizes around those of buffers and chunks, and readers that give much, little and one byte at a time.
func putAndGet(t *testing.T, s folder) {
	for _, n := range []int{1, 16<<10 - 1, 16 << 10, 256<<10 + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3<<20 + 5} {
		b := body(n, 1)
		for name, r := range map[string]io.Reader{
			"at once": bytes.NewReader(b), "in halves": iotest.HalfReader(bytes.NewReader(b)), "end with the last bytes": iotest.DataErrReader(bytes.NewReader(b)),
		} {
			digest, size, err := s.Put(t.Context(), r, int64(n))
			if err != nil || digest != digestOf(b) || size != int64(n) {
				t.Fatalf("put %d bytes %s: got %q, %d, %v", n, name, digest, size, err)
			}
		}
		if got, err := io.ReadAll(mustGet(t, s, digestOf(b))); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("get %d bytes: got %d others, %v", n, len(got), err)
		}
	}
	small := body(20_000, 2)
	if _, _, err := s.Put(t.Context(), iotest.OneByteReader(bytes.NewReader(small)), 1<<20); err != nil || !isThere(t, s, digestOf(small)) {
		t.Errorf("one byte at a time: %v", err)
	}
}

func theSameTwice(t *testing.T, s folder) {
	b := body(1<<20+1, 1)
	mustPut(t, s, b)
	once := s.Left(t)
	mustPut(t, s, b)
	if got := s.Left(t); got != once || once == 0 {
		t.Errorf("takes room: got %d, and %d for it twice", once, got)
	}
	if got, err := io.ReadAll(mustGet(t, s, digestOf(b))); err != nil || !bytes.Equal(got, b) {
		t.Errorf("got %d other bytes, %v", len(got), err)
	}
}

func seek(t *testing.T, s folder) {
	b := body(2<<20+100, 1)
	r := mustGet(t, s, mustPut(t, s, b))
	for _, to := range []struct {
		offset int64
		whence int
		want   int64
	}{
		{-50, io.SeekEnd, 2<<20 + 50}, {1<<20 - 10, io.SeekStart, 1<<20 - 10}, {5, io.SeekCurrent, 1<<20 + 15}, {0, io.SeekStart, 0}, {2 << 20, io.SeekStart, 2 << 20},
	} {
		at, err := r.Seek(to.offset, to.whence)
		if err != nil || at != to.want {
			t.Fatalf("seek %d, %d: got %d, %v", to.offset, to.whence, at, err)
		}
		part := make([]byte, 20)
		if _, err := io.ReadFull(r, part); err != nil || !bytes.Equal(part, b[at:at+20]) {
			t.Errorf("from %d: got %x, %v, want %x", at, part, err, b[at:at+20])
		}
	}
	if _, err := r.Seek(10, io.SeekEnd); err != nil {
		t.Error(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: got %d, %v", n, err)
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("before the start: no error")
	}
}

func failedPut(t *testing.T, s folder) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("client died")
	for _, n := range []int{9, 1<<20 + 9} {
		for _, test := range []struct {
			name  string
			ctx   context.Context
			r     io.Reader
			limit int64
			check func(error) bool
		}{
			{"over the limit", t.Context(), bytes.NewReader(body(n, 1)), int64(n) - 1, func(err error) bool { return domain.CodeOf(err) == domain.TooLarge }},
			{"reader fails", t.Context(), io.MultiReader(bytes.NewReader(body(n, 1)), iotest.ErrReader(broken)), 1 << 30, func(err error) bool { return errors.Is(err, broken) }},
			{"context ended", ended, bytes.NewReader(body(n, 1)), 1 << 30, func(err error) bool { return errors.Is(err, context.Canceled) }},
		} {
			if _, _, err := s.Put(test.ctx, test.r, test.limit); !test.check(err) {
				t.Errorf("%s: got %v", test.name, err)
			}
			if got := s.Left(t); got != 0 {
				t.Errorf("%s, %d bytes: %d left behind", test.name, n, got)
			}
		}
	}
}

func nothing(t *testing.T, s folder) {
	if isThere(t, s, digestOf(nil)) {
		t.Error("there is something")
	}
}

func collect(t *testing.T, s folder) {
	kept, left := mustPut(t, s, body(10, 1)), mustPut(t, s, body(1<<20+10, 2))
	keep := func(digest string) (bool, error) { return digest == kept, nil }
	if n, err := s.Collect(t.Context(), keep); n != 0 || err != nil {
		t.Errorf("all are held: got %d, %v", n, err)
	}
	s.Release(kept, true)
	s.Release(left, false)
	if n, err := s.Collect(t.Context(), keep); n != 1 || err != nil || !isThere(t, s, kept) || isThere(t, s, left) {
		t.Errorf("one is not used: got %d, %v", n, err)
	}
	if n, err := s.Collect(t.Context(), func(string) (bool, error) { return false, nil }); n != 1 || err != nil {
		t.Errorf("none is used: got %d, %v", n, err)
	}
	if got := s.Left(t); got != 0 {
		t.Errorf("%d left behind", got)
	}
}

func collectFails(t *testing.T, s folder) {
	digest := mustPut(t, s, body(10, 1))
	s.Release(digest, false)
	broken := errors.New("cannot tell")
	if n, err := s.Collect(t.Context(), func(string) (bool, error) { return false, broken }); n != 0 || !errors.Is(err, broken) {
		t.Errorf("keep fails: got %d, %v", n, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := s.Collect(ended, func(string) (bool, error) { return false, nil }); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("the context has ended: got %d, %v", n, err)
	}
	if !isThere(t, s, digest) {
		t.Error("it is gone")
	}
}

func holds(t *testing.T, s folder) {
	nobody := func(string) (bool, error) { return false, nil }
	b := body(10, 1)
	digest := mustPut(t, s, b)
	mustPut(t, s, b)
	s.Release(digest, true)
	select {
	case <-s.Unused():
		t.Error("unused although it is held")
	default:
	}
	if n, err := s.Collect(t.Context(), nobody); n != 0 || err != nil {
		t.Errorf("put twice, released once: got %d, %v", n, err)
	}
	s.Release(digest, false)
	select {
	case <-s.Unused():
	default:
		t.Error("nothing says that it is unused")
	}
	if n, err := s.Collect(t.Context(), nobody); n != 1 || err != nil {
		t.Errorf("released twice: got %d, %v", n, err)
	}
}

// collectBesidePuts has some clients put the same few bodies, refer to every other one of them and stop to refer to what
// was before, while all that nobody refers to is collected: what is referred to must be there.
func collectBesidePuts(t *testing.T, s folder) {
	const clients, rounds, bodies = 4, 60, 3
	var mu sync.Mutex
	used := map[string]int{}
	refer := func(digest string, n int) {
		mu.Lock()
		defer mu.Unlock()
		used[digest] += n
	}
	done, collected := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(collected)
		for {
			_, err := s.Collect(context.WithoutCancel(t.Context()), func(digest string) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				return used[digest] > 0, nil
			})
			if err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := range rounds {
				b := body(1000, byte((client+i)%bodies))
				digest, _, err := s.Put(t.Context(), bytes.NewReader(b), 1<<20)
				if err != nil {
					t.Error(err)
					return
				}
				use := i%2 == 0
				if use {
					refer(digest, 1)
				}
				s.Release(digest, use)
				if !use {
					continue
				}
				if !isThere(t, s, digest) {
					t.Errorf("%s is referred to, and gone", digest)
				}
				refer(digest, -1)
			}
		})
	}
	wg.Wait()
	close(done)
	<-collected
	if _, err := s.Collect(t.Context(), func(string) (bool, error) { return false, nil }); err != nil {
		t.Error(err)
	}
	if got := s.Left(t); got != 0 {
		t.Errorf("%d left behind", got)
	}
}
