package secure

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

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
		if got, err := lookUp(t.Context(), r, time.Hour, host); err != nil || got != netip.MustParseAddr(want) {
			t.Errorf("%s: got %s, %v, want %s", host, got, err, want)
		}
	}
	if got, err := lookUp(t.Context(), r, time.Millisecond, "edge.example."); err == nil || !strings.Contains(err.Error(), `"edge.example." has no address`) {
		t.Errorf("got %s, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _, _ = silent.ReadFrom(make([]byte, 512)) // the query of the name above, or of this one
		cancel()
	}()
	if _, err := lookUp(ctx, r, time.Hour, "edge.example."); err == nil {
		t.Error("a start that was stopped goes on")
	}
}
