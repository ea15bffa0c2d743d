package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
)

// mustOpenAdminSocket answers each request with its name, once answer gives way.
func mustOpenAdminSocket(t *testing.T, dir string, came chan<- string, goOn <-chan struct{}) *adminSocket {
	t.Helper()
	s, err := openAdminSocket(dir, slog.New(slog.DiscardHandler), func(_ context.Context, actor string, r adminRequest, _ func(adminAnswer) error) (adminAnswer, error) {
		came <- actor
		<-goOn
		return adminAnswer{Token: r.Name}, nil
	})
	ledgetest.MustDo(t, err)
	return s
}

func mustDialAdmin(t *testing.T, dir string) net.Conn {
	t.Helper()
	path, folder, err := adminSocketPath(dir)
	ledgetest.MustDo(t, err)
	defer folder.Close()
	c, err := net.Dial("unix", path)
	ledgetest.MustDo(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAdminSocketBounds has a number of requests answered at once and one more after one of them, and refuses a request above 64 KiB.
func TestAdminSocketBounds(t *testing.T) {
	t.Parallel()
	dir, came, goOn := t.TempDir(), make(chan string, 9), make(chan struct{})
	s := mustOpenAdminSocket(t, dir, came, goOn)
	var all []net.Conn
	for range adminConnections + 1 {
		c := mustDialAdmin(t, dir)
		ledgetest.MustDo(t, json.NewEncoder(c).Encode(adminRequest{Name: "x"}))
		all = append(all, c)
	}
	for range adminConnections {
		<-came
	}
	if len(came) > 0 {
		t.Error("one more request is in work than may be")
	}
	close(goOn)
	for _, c := range all {
		var a adminAnswer
		if err := json.NewDecoder(c).Decode(&a); err != nil || a.Token != "x" {
			t.Errorf("got %+v, %v", a, err)
		}
	}
	c := mustDialAdmin(t, dir)
	_, _ = io.WriteString(c, `{"name":"`+strings.Repeat("x", adminRequestBytes)+`"}`) // the server may close before it has read all
	if text, _ := io.ReadAll(c); !strings.Contains(string(text), "no JSON object of at most 65536 bytes") {
		t.Errorf("got %q", text)
	}
	s.close()
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
	ledgetest.MustDo(t, os.MkdirAll(dir, 0o700))
	ledgetest.MustDo(t, os.WriteFile(filepath.Join(dir, datadir.AdminSocketFile), nil, 0o600))
	came, goOn := make(chan string, 1), make(chan struct{})
	close(goOn)
	s := mustOpenAdminSocket(t, dir, came, goOn)
	defer s.close()
	info, err := os.Lstat(filepath.Join(dir, datadir.AdminSocketFile))
	ledgetest.MustDo(t, err)
	if info.Mode() != 0o600|os.ModeSocket {
		t.Errorf("got mode %v, want a socket with 0600", info.Mode())
	}
	a, err := askAdminSocket(t.Context(), dir, adminRequest{Name: "y"}, nil)
	if err != nil || a.Token != "y" {
		t.Errorf("got %+v, %v", a, err)
	}
	if got, want := <-came, "cli:"+ownName(); got != want {
		t.Errorf("got actor %q, want %q", got, want)
	}
}

func TestPasswordFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "password")
	for text, want := range map[string]string{"a b\r\nmore\n": "a b", "x": "x", "\nx": "", strings.Repeat("x", maxPasswordFile+1): ""} {
		ledgetest.MustDo(t, os.WriteFile(name, []byte(text), 0o600))
		if got, err := passwordFromFile(name); got != want || (err != nil) != (want == "") {
			t.Errorf("%.20q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestLifetime(t *testing.T) {
	for text, want := range map[string]string{"90d": "2160h0m0s", "12h": "12h0m0s", "0d": "", "-1d": "", "36501d": "", "999999999999d": "", "d": "", "90": ""} {
		d, err := parseLifetime(text)
		if err != nil && want != "" || err == nil && d.String() != want {
			t.Errorf("%q: got %v, %v, want %q", text, d, err, want)
		}
	}
}
