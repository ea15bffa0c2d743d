package zeromq

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// 11: a host may be a wildcard, an address, an interface or a name.
func TestInterfaceName(t *testing.T) {
	for host, dial := range map[string]string{
		loopback(t): "127.0.0.1", "*": "127.0.0.1", "": "127.0.0.1", "0.0.0.0": "127.0.0.1",
		"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::ffff:127.0.0.1": "127.0.0.1",
	} {
		p, err := Listen(host, 0, Options{Logger: quiet})
		if err != nil {
			t.Errorf("%q: %v", host, err)
			continue
		}
		c, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr(dial), uint16(p.Port())).String())
		if err != nil {
			t.Errorf("%q: %v", host, err)
		} else {
			c.Close()
		}
		p.Close(0)
	}
}

func loopback(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, ifi := range all {
		if ifi.Flags&net.FlagLoopback != 0 {
			return ifi.Name
		}
	}
	t.Fatal("this machine has no loopback interface")
	return ""
}

// 11: "*" takes IPv4 and IPv6, "0.0.0.0" IPv4 alone.
func TestWildcards(t *testing.T) {
	probe, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("the test needs IPv6 on the loopback interface: run `sysctl net.ipv6.conf.lo.disable_ipv6=0`")
	}
	probe.Close()
	for host, want := range map[string]bool{"*": true, "::": true, "[::]": true, "0.0.0.0": false, "::1": true} {
		p, err := Listen(host, 0, Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.DialTCP("tcp6", nil, &net.TCPAddr{IP: net.IPv6loopback, Port: p.Port()})
		if (err == nil) != want {
			t.Errorf("bound to %q, connecting to ::1 gave %v", host, err)
		}
		if err == nil {
			c.Close()
		}
		p.Close(0)
	}
}

// 11: errors say which host and port, why, and what to do.
func TestBindErrors(t *testing.T) {
	used := MustListen(t, Options{})
	for _, tc := range []struct {
		host string
		port int
		want []string
	}{
		{"127.0.0.1", used.Port(), []string{`host "127.0.0.1"`, "in use", "choose another port"}},
		{"nobody.invalid", 5563, []string{`host "nobody.invalid", port 5563`, "interfaces (", `use "*"`}},
		{"tcp://*", 5563, []string{`host "tcp://*"`, `use "*"`}},
		{"198.51.100.1", 0, []string{"198.51.100.1", "choose an address of this machine"}},
		{"*", 65536, []string{"port 65536", "from 1 to 65535"}},
		{"*", -1, []string{"port -1", "from 1 to 65535"}},
	} {
		p, err := Listen(tc.host, tc.port, Options{Logger: quiet})
		if err == nil {
			p.Close(0)
			t.Errorf("%s:%d was bound", tc.host, tc.port)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s:%d: got %q, want %q in it", tc.host, tc.port, err, want)
			}
		}
	}
}

// The package relies on how zmq4 behaves inside: see DESIGN.md for what to check again before
// this version changes.
func TestPinnedVersion(t *testing.T) {
	const want = "github.com/go-zeromq/zmq4 v0.17.0"
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %s", want)
	}
}
