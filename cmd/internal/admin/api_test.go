package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/datadir"
)

// TestAPI sends requests to a service at the socket: a large body, several at once, and one that is under way when the socket is closed.
func TestAPI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	waits, ended := make(chan struct{}), make(chan error, 1)
	s, err := Open(dir, slog.New(slog.DiscardHandler), nil, func(actor string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/waits" {
				close(waits)
				<-r.Context().Done()
				ended <- r.Context().Err()
				return
			}
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, actor, " ", r.Host, r.URL.Path, " ", n, " ", err)
		})
	})
	mustDo(t, err)
	api := (&Client{dir}).API()
	for range 2 * longRequests { // each gives its connection back
		r, err := api.Post("http://core-metadata/api/v2/device", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
		mustDo(t, err)
		text, err := io.ReadAll(r.Body)
		mustDo(t, errors.Join(err, r.Body.Close()))
		if want := LocalActor() + " core-metadata/api/v2/device 1048576 <nil>"; string(text) != want {
			t.Fatalf("got %s, want %s", text, want)
		}
	}
	failed := make(chan error)
	go func() {
		r, err := api.Get("http://core-data/waits")
		if err == nil {
			r.Body.Close()
		}
		failed <- err
	}()
	<-waits
	s.Close()
	<-failed // an answer without a body, or a connection that was closed: both end the request
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
	if _, err := api.Get("http://core-data/"); !errors.Is(err, ErrAway) {
		t.Errorf("after the stop: got %v", err)
	}
}

// TestAPIOfAnotherServer asks a server that gives a reason in place of HTTP, and one that says nothing at all.
func TestAPIOfAnotherServer(t *testing.T) {
	t.Parallel()
	for reply, says := range map[string]string{
		`{"error":"no","away":true}` + "\n": "not available: no",
		"":                                  "not available",
		"HTTP/1.1 200 OK\r\n\r\n":           "not available",
	} {
		dir := t.TempDir()
		l, err := net.Listen("unix", filepath.Join(dir, datadir.AdminSocketFile))
		mustDo(t, err)
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = io.ReadFull(c, make([]byte, len(`{"do":"api"}`)))
				_, _ = io.WriteString(c, reply)
				c.Close()
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://core-data/", nil)
		mustDo(t, err)
		_, err = (&Client{dir}).API().Do(r)
		if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: got %v", reply, err)
		}
		cancel()
		l.Close()
	}
}
