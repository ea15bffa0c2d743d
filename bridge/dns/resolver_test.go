package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ledge/bridge/dnstest"
)

func TestLookup(t *testing.T) {
	server := dnstest.Start(t)
	now := time.Now()
	r := New(Options{Server: server.Address, Now: func() time.Time { return now }})
	if addrs, err := r.Known("localhost"); err != nil || !addrs[0].Unmap().IsLoopback() {
		t.Errorf("localhost: %v, %v", addrs, err)
	}
	for range 3 {
		addrs, err := r.Lookup(t.Context(), "a.example.")
		if err != nil || len(addrs) != 1 || addrs[0].Unmap() != netip.MustParseAddr("127.0.0.1") {
			t.Fatal(addrs, err)
		}
		if _, err := r.Lookup(t.Context(), "missing.example."); err == nil || errors.Is(err, ErrNotAsked) {
			t.Fatal(err)
		}
	}
	if a, m := server.Asked("a.example"), server.Asked("missing.example"); a != 2 || m != 6 { // A and AAAA
		t.Errorf("asked %d and %d times, want 2 for what is remembered, and 6", a, m)
	}
	if _, err := r.Known("missing.example."); err == nil || errors.Is(err, ErrNotAsked) {
		t.Error(err)
	}
	now = now.Add(time.Minute)
	if _, err := r.Known("a.example."); !errors.Is(err, ErrNotAsked) {
		t.Error(err)
	}
}

// While name servers are silent, no more connections to them are open than are allowed, and none for who has gone.
func TestNameServerConnections(t *testing.T) {
	server := dnstest.Start(t)
	server.Silence(true)
	r := New(Options{Server: server.Address, Connections: 4})
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for i := range 50 {
		asking.Go(func() {
			if addrs, err := r.Lookup(ctx, fmt.Sprintf("n%d.example.", i)); err == nil {
				t.Errorf("got %v", addrs)
			}
		})
	}
	for server.Names() == 0 {
		time.Sleep(time.Millisecond)
	}
	if n := len(r.slots); n > 4 {
		t.Errorf("%d connections, want 4 at most", n)
	}
	cancel()
	asking.Wait()
	server.Silence(false)
	if _, err := r.Lookup(t.Context(), "n1.example."); err != nil { // those who have gone have given their places back
		t.Error(err)
	}
}

func TestRememberedNames(t *testing.T) {
	now := time.Now()
	r := New(Options{Now: func() time.Time { return now }})
	for i := range 2 * mostRemembered {
		r.remember(fmt.Sprint(i), nil, errors.New("none"))
	}
	if len(r.recent) != mostRemembered {
		t.Errorf("%d are remembered, want %d", len(r.recent), mostRemembered)
	}
	now = now.Add(time.Minute)
	r.remember("new", nil, nil)
	if len(r.recent) != 1 {
		t.Errorf("%d are remembered", len(r.recent))
	}
}
