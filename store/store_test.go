package store_test

import (
	"io"
	"log/slog"
	"testing"

	"ledge/store"
	"ledge/store/storetest"
)

// options opens a store in dir.
func options(dir string) store.Options {
	return store.Options{Dir: dir, ReserveBytes: 1 << 20, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func mustOpen(tb testing.TB, o store.Options) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), o)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store { return mustOpen(t, options(t.TempDir())) })
}
