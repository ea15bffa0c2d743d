package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

func TestDestination(t *testing.T) {
	for _, c := range []struct {
		deny, allow string
		host        string
		port        int
		want        string // part of the refusal; empty where there is none
	}{
		{NoDestinations, "", "169.254.169.254", 80, "169.254.169.254 is refused as a destination by the entry 169.254.0.0/16 of the setting deny-destinations"},
		{NoDestinations, "", "::ffff:169.254.169.254", 80, "169.254.0.0/16"},
		{NoDestinations, "", "64:ff9b::a9fe:a9fe", 80, "169.254.0.0/16"},
		{NoDestinations, "", "[fe80::1]", 80, "fe80::/10"},
		{NoDestinations, "", "fe80::1%eth0", 80, "fe80::/10"},
		{NoDestinations, "", "fd00:ec2::254", 80, "fd00:ec2::254"},
		{NoDestinations, "", "Metadata.Google.Internal.", 80, "metadata.google.internal"},
		{NoDestinations, "", "127.0.0.1", 80, ""},
		{NoDestinations, "", "example.org", 80, ""},
		{"", "", "169.254.169.254", 80, ""},
		{"", "10.0.0.0/8", "10.1.2.3", 80, ""},
		{"", "10.0.0.0/8", "11.1.2.3", 80, "11.1.2.3 with port 80 is not a destination that the setting allow-destinations has"},
		{"", "10.0.0.0/8", "example.org", 80, ""}, // its addresses decide
		{"", "10.0.0.0/8:443", "example.org", 80, "allow-destinations"},
		{"", "*.example.org:443", "a.example.org", 443, ""},
		{"", "*.example.org:443", "a.example.org", 444, "allow-destinations"},
		{"", "*.example.org", "example.org", 443, "allow-destinations"},
		{"", "*.example.org", "badexample.org", 443, "allow-destinations"},
		{"", "*:8000-8999", "example.org", 8999, ""},
		{"", "*:8000-8999", "10.0.0.1", 9000, "allow-destinations"},
		{"10.0.0.1", "10.0.0.0/8", "10.0.0.1", 80, "deny-destinations"},
		{"*:25", "", "example.org", 25, "deny-destinations"},
	} {
		err := New(Options{Deny: MustRules(c.deny), Allow: MustRules(c.allow)}).Destination(c.host, c.port)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("deny %q, allow %q: %s:%d: got %v, want %q", c.deny, c.allow, c.host, c.port, err, c.want)
		}
		if r, ok := errors.AsType[*Refused](err); err != nil && (!ok || !r.Permanent()) {
			t.Errorf("%s: %v is not a permanent refusal", c.host, err)
		}
	}
}

// What a name means is decided when it is dialled: localhost here stands for a name that an attacker points inwards.
func TestDialChecksResolvedAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, c := range []struct {
		deny, allow, host string
		refused           bool
	}{
		{"", "", "localhost", false},
		{"127.0.0.0/8,::1", "", "localhost", true},
		{"127.0.0.0/8", "", "127.0.0.1", true},
		{"127.0.0.0/8,::1", "localhost", "localhost", true},
		{"", "localhost", "localhost", false},
		{"", "127.0.0.0/8,::1", "localhost", false},
		{"", "10.0.0.0/8", "localhost", true},
		{"", "10.0.0.0/8", "127.0.0.1", true},
		{"localhost", "", "localhost", true},
	} {
		g := New(Options{Deny: MustRules(c.deny), Allow: MustRules(c.allow)})
		conn, err := g.DialContext(context.Background(), "tcp", net.JoinHostPort(c.host, port))
		if err == nil {
			conn.Close()
		}
		if _, ok := errors.AsType[*Refused](err); ok != c.refused || err != nil && !ok {
			t.Errorf("deny %q, allow %q, %s: got %v, want refused %v", c.deny, c.allow, c.host, err, c.refused)
		}
	}
}

func TestBind(t *testing.T) {
	own := map[int]string{59881: "core-metadata"}
	for _, c := range []struct {
		binds, host, addr string
		port              uint16
		want              string
	}{
		{"", "*", "::", 5563, ""},
		{"", "127.0.0.1", "127.0.0.1", 1023, "port: 1023 is privileged; choose one from 1024 to 65535"},
		{"", "127.0.0.1", "127.0.0.1", 1024, ""},
		{"", "127.0.0.2", "127.0.0.2", 59881, "port: 59881 is Ledge's own, for core-metadata; choose another"},
		{"127.0.0.0/8", "lo", "127.0.0.1", 5563, ""},
		{"127.0.0.0/8", "*", "::", 5563, "host: * with port 5563 is not where the setting allow-binds"},
		{"*:5560-5569", "*", "::", 5563, ""},
		{"*:5560-5569", "*", "::", 5570, "allow-binds"},
		{"eth0", "eth0", "10.0.0.1", 5570, ""},
	} {
		err := New(Options{Binds: MustRules(c.binds), OwnPorts: own}).Bind(c.host, netip.AddrPortFrom(netip.MustParseAddr(c.addr), c.port))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("binds %q: %s:%d: got %v, want %q", c.binds, c.host, c.port, err, c.want)
		}
	}
}

// Ledge's own listeners are not destinations, whatever they are called; other ports of this machine are.
func TestOwnListeners(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	own := New(Options{OwnPorts: map[int]string{port: "core-metadata"}, OwnSocket: func(p int) bool { return p == port+1 }})
	for host, now := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "localhost": true, "x.LOCALHOST.": true, "0.0.0.0": true, "::": true, "::1": true, "[::ffff:127.0.0.1]": true, "2002:7f00:1::": true, "64:ff9b:1::7f00:1": true, "192.0.2.77": false, "example.org": false} {
		for p, want := range map[int]bool{port: now, port + 1: now, port + 2: false} {
			_, refused := errors.AsType[*Refused](own.Destination(host, p))
			if refused != want {
				t.Errorf("%s:%d: refused %v", host, p, refused)
			}
			if own.Allowed(host, p) != nil {
				t.Errorf("%s:%d: the settings allow it", host, p)
			}
		}
	}
	for _, host := range []string{"localhost", "127.0.0.1", "0.0.0.0"} {
		if _, err := own.DialContext(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil || !strings.Contains(err.Error(), "is Ledge's own, for core-metadata") {
			t.Errorf("dialled %s: %v", host, err)
		}
	}
	for text, want := range map[string]bool{
		fmt.Sprint("http://localhost:", port): true, fmt.Sprintf("https://[::1]:%d/x", port): true,
		"http://localhost": false, "http://%": false,
		fmt.Sprint("http://192.0.2.77:", port): false, fmt.Sprint("http://edgex-device-rest:", port): false, "/x": false,
	} {
		if got := own.IsOwnURL(text); got != want {
			t.Errorf("%s is Ledge's own: %t", text, got)
		}
	}
	free := New(Options{})
	conn, err := free.DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if free.ShowsAnswer(conn) {
		t.Error("an answer of this machine is shown")
	}
	for text, want := range map[string]bool{"192.0.2.1:80": true, "192.0.2.7:80": false, "[::1]:80": false, "[64:ff9b::7f00:1]:80": false, "[2001:db8::1]:80": true} {
		if got := free.ShowsAnswer(addressed{conn, text}); got != want {
			t.Errorf("an answer of %s, to 192.0.2.7, is shown: %t", text, got)
		}
	}
}

// addressed is a connection from 192.0.2.7 to another address.
type addressed struct {
	net.Conn
	to string
}

func (a addressed) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(a.to))
}
func (addressed) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.7:4000"))
}

func TestMeanings(t *testing.T) {
	for text, want := range map[string]string{
		"0.0.0.0": "[0.0.0.0 127.0.0.1]", "::": "[:: ::1]", "::ffff:0.0.0.0": "[0.0.0.0 127.0.0.1]", "::1": "[::1]", "10.0.0.1": "[10.0.0.1]",
		"64:ff9b::7f00:1": "[64:ff9b::7f00:1 127.0.0.1]", "2002:a00:1::1": "[2002:a00:1::1 10.0.0.1]", "::7f00:1": "[::7f00:1 127.0.0.1]",
		"2001:0:102:304::f5ff:fffe": "[2001:0:102:304::f5ff:fffe 1.2.3.4 10.0.0.1]", "::ffff:0:7f00:1": "[::ffff:0:7f00:1 127.0.0.1]",
		"2001:db8::5efe:a00:1": "[2001:db8::5efe:a00:1 10.0.0.1]", "fe80::1%eth0": "[fe80::1]",
	} {
		if got := fmt.Sprint(meanings(netip.MustParseAddr(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
