package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
)

// mustOpen answers each request with its name, once answer gives way.
func mustOpen(t *testing.T, dir string, came chan<- string, goOn <-chan struct{}) *Socket {
	t.Helper()
	s, err := Open(dir, slog.New(slog.DiscardHandler), func(_ context.Context, actor string, r Request, _ func(Answer) error) (Answer, error) {
		came <- actor
		<-goOn
		return Answer{Token: r.Name}, nil
	}, nil)
	mustDo(t, err)
	return s
}

func mustDial(t *testing.T, dir string) net.Conn {
	t.Helper()
	path, folder, err := socketPath(dir)
	mustDo(t, err)
	defer folder.Close()
	c, err := net.Dial("unix", path)
	mustDo(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAdminSocketBounds has a number of requests answered at once and one more after one of them, and refuses a request above 64 KiB.
func TestAdminSocketBounds(t *testing.T) {
	t.Parallel()
	dir, came, goOn := t.TempDir(), make(chan string, 9), make(chan struct{})
	s := mustOpen(t, dir, came, goOn)
	var all []net.Conn
	for range connections + 1 {
		c := mustDial(t, dir)
		mustDo(t, json.NewEncoder(c).Encode(Request{Name: "x"}))
		all = append(all, c)
	}
	for range connections {
		<-came
	}
	if len(came) > 0 {
		t.Error("one more request is in work than may be")
	}
	close(goOn)
	for _, c := range all {
		var a Answer
		if err := json.NewDecoder(c).Decode(&a); err != nil || a.Token != "x" {
			t.Errorf("got %+v, %v", a, err)
		}
	}
	c := mustDial(t, dir)
	_, _ = io.WriteString(c, `{"name":"`+strings.Repeat("x", requestBytes)+`"}`) // the server may close before it has read all
	if text, _ := io.ReadAll(c); !strings.Contains(string(text), "no JSON object of at most 65536 bytes") {
		t.Errorf("got %q", text)
	}
	s.Close()
	if _, err := os.Lstat(filepath.Join(dir, datadir.AdminSocketFile)); err == nil {
		t.Error("the socket is there after the stop")
	}
}

// TestAdminSocketFile has a path that is longer than the system takes, and a stale socket in its place.
func TestAdminSocketFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if runtime.GOOS == "linux" {
		dir = filepath.Join(dir, strings.Repeat("long", 40))
	}
	mustDo(t, os.MkdirAll(dir, 0o700))
	mustDo(t, os.WriteFile(filepath.Join(dir, datadir.AdminSocketFile), nil, 0o600))
	came, goOn := make(chan string, 1), make(chan struct{})
	close(goOn)
	s := mustOpen(t, dir, came, goOn)
	defer s.Close()
	info, err := os.Lstat(filepath.Join(dir, datadir.AdminSocketFile))
	mustDo(t, err)
	if info.Mode() != 0o600|os.ModeSocket {
		t.Errorf("got mode %v, want a socket with 0600", info.Mode())
	}
	a, err := (&Client{dir}).Ask(t.Context(), Request{Name: "y"}, nil)
	if err != nil || a.Token != "y" {
		t.Errorf("got %+v, %v", a, err)
	}
	if got, want := <-came, LocalActor(); got != want {
		t.Errorf("got actor %q, want %q", got, want)
	}
}

// TestLastingRequests holds that requests which last have a bound of their own, and that each ends with its client or the server.
func TestLastingRequests(t *testing.T) {
	t.Parallel()
	dir, came, ended := t.TempDir(), make(chan string, longRequests+1), make(chan string, longRequests+1)
	s, err := Open(dir, slog.New(slog.DiscardHandler), func(ctx context.Context, _ string, r Request, send func(Answer) error) (Answer, error) {
		if !r.isLong() {
			return Answer{Token: "short"}, nil
		}
		came <- r.Name
		mustDo(t, send(Answer{Text: "begun"}))
		<-ctx.Done()
		ended <- r.Name
		return Answer{Token: "ended"}, nil
	}, nil)
	mustDo(t, err)
	ask := func(name string) net.Conn {
		c := mustDial(t, dir)
		mustDo(t, json.NewEncoder(c).Encode(Request{Do: "verify", Name: name}))
		return c
	}
	first := ask("first")
	<-came
	for range longRequests - 1 {
		ask("other")
		<-came
	}
	if _, err := (&Client{dir}).Ask(t.Context(), Request{Do: "verify"}, nil); err == nil || !strings.Contains(err.Error(), "more are not allowed") {
		t.Errorf("one more: %v", err)
	}
	plain := mustDial(t, dir)
	_, err = io.WriteString(plain, "GET /debug/pprof/heap HTTP/1.1\r\nHost: ledge\r\n\r\n")
	mustDo(t, err)
	if resp, err := http.ReadResponse(bufio.NewReader(plain), nil); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more of HTTP: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	if a, err := (&Client{dir}).Ask(t.Context(), Request{Do: "user list"}, nil); err != nil || a.Token != "short" {
		t.Errorf("a short request: %+v, %v", a, err)
	}
	first.Close()
	if name := <-ended; name != "first" {
		t.Errorf("%q has ended with the first client", name)
	}
	texts, last := make(chan string, 1), make(chan Answer, 1)
	go func() {
		a, _ := (&Client{dir}).Ask(t.Context(), Request{Do: "verify"}, func(a Answer) { texts <- a.Text })
		last <- a
	}()
	if text := <-texts; text != "begun" {
		t.Errorf("the first answer is %q", text)
	}
	s.Close()
	if a := <-last; a.Token != "ended" {
		t.Errorf("the last answer is %+v", a)
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
