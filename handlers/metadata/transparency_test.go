package metadata

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"ledge/handlers/handlerstest"
)

// slowTiles is a transparency log whose tiles are made when done is closed.
type slowTiles struct {
	handlerstest.Transparency
	done   chan struct{}
	making atomic.Int64
}

func (s *slowTiles) Resource(ctx context.Context, path string) ([]byte, error) {
	s.making.Add(1)
	defer s.making.Add(-1)
	select {
	case <-s.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Transparency.Resource(ctx, path)
}

// TestTilesAreShared holds the cost of a client that asks for many tiles at once: it takes one of two turns, so that another client is
// served meanwhile.
func TestTilesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := handlerstest.NewLog()
		tiles := &slowTiles{Transparency: handlerstest.Transparency{Log: log}, done: make(chan struct{})}
		h := mustServe(t, log, tiles)
		var all sync.WaitGroup
		ask := func(client string, want int) {
			all.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v2/ledger/tile/0/000.p/1", nil)
				r.RemoteAddr = client
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != want {
					t.Errorf("%s: got %d %s, want %d", client, w.Code, w.Body, want)
				}
			})
		}
		check := func(want int64) {
			t.Helper()
			if synctest.Wait(); tiles.making.Load() != want {
				t.Errorf("%d tiles are made at a time, want %d", tiles.making.Load(), want)
			}
		}
		for i := range 50 {
			ask(fmt.Sprintf("192.0.2.1:%d", i), http.StatusOK)
		}
		check(tilesAtOnce - 1)
		ask("192.0.2.2:1", http.StatusOK)
		check(tilesAtOnce)
		close(tiles.done)
		all.Wait()
	})
}

// TestTilesAreNotWaitedForLong holds that a request which gets no turn is answered.
func TestTilesAreNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiles := &slowTiles{done: make(chan struct{})}
		h := mustServe(t, handlerstest.NewLog(), tiles)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var refused atomic.Int64
		for range 10 {
			all.Go(func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v2/ledger/tile/0/000.p/1", nil))
				if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
				if refused.Add(1) == 10-(tilesAtOnce-1) {
					cancel() // the clients of the others go away
				}
			})
		}
		all.Wait()
		cancel()
	})
}
