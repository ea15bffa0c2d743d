package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// An address that other machines can reach is refused at the start, before anything is listened on or written.
func TestOpenAddressesAreRefused(t *testing.T) {
	t.Parallel()
	ports := []string{"--metadata-port", "0", "--device-rest-port", "0", "--notifications-port", "0", "--console-port", "0", "--data-port", "0", "--tap-port", "0"}
	for _, setting := range []string{"metadata-host", "data-host", "device-rest-host", "notifications-host", "tap-host"} {
		for _, host := range []string{"0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1", "169.254.1.1"} {
			dir := filepath.Join(t.TempDir(), "data")
			c := &Config{}
			flags := c.settings()
			if err := flags.Parse(append([]string{"--data-dir", dir, "--" + setting, host}, ports...)); err != nil {
				t.Fatal(err)
			}
			err := c.findAddresses(t.Context())
			if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.Usage || !strings.Contains(err.Error(), "setting "+setting+": "+host) || !strings.Contains(err.Error(), "or set allow-insecure") {
				t.Errorf("%s %s: got %v", setting, host, err)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	_, stderr, code := ledgetest.Run(t, append([]string{"serve", "--data-dir", dir, "--metadata-host", "0.0.0.0", "--tap-host", "::"}, ports...)...)
	for _, want := range []string{"setting metadata-host: 0.0.0.0 can be reached", "setting tap-host: :: can be reached", "127.0.0.1", "reverse proxy", "allow-insecure"} {
		if code != exit.Usage || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, %q does not say %q", code, stderr, want)
		}
	}
	if left, _ := filepath.Glob(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// localhost is 127.0.0.1 whatever a name server says; another name is looked up for so long, and as long as the start goes on.
func TestLookup(t *testing.T) {
	t.Parallel()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", silent.LocalAddr().String())
	}}
	for host, want := range map[string]string{
		"localhost": "127.0.0.1", "LOCALHOST.": "127.0.0.1", "::1": "::1", "0.0.0.0": "0.0.0.0", "fe80::1%eth0": "fe80::1%eth0",
	} {
		if got, err := lookup(t.Context(), r, time.Hour, host); err != nil || got != netip.MustParseAddr(want) {
			t.Errorf("%s: got %s, %v, want %s", host, got, err, want)
		}
	}
	if got, err := lookup(t.Context(), r, time.Millisecond, "edge.example."); err == nil || !strings.Contains(err.Error(), `"edge.example." has no address`) {
		t.Errorf("got %s, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _, _ = silent.ReadFrom(make([]byte, 512)) // the query of the name above, or of this one
		cancel()
	}()
	if _, err := lookup(ctx, r, time.Hour, "edge.example."); err == nil {
		t.Error("a start that was stopped goes on")
	}
}
