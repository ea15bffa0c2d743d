package lifecycle

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestOutOfDescriptors opens more idle connections than the process may have descriptors: uploads and reads of large values, for
// which files are opened, go on beside them.
func TestOutOfDescriptors(t *testing.T) {
	const most = 80
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("the test limits descriptors with prlimit: install Debian's package util-linux:", err)
	}
	p := ledgetest.LaunchUnder(t, []string{prlimit, fmt.Sprintf("--nofile=%d:%d", most, most)}, t.TempDir())
	if err := p.WaitReady(); err != nil {
		t.Fatal(err, p.Log)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	var idle []net.Conn
	dial := func() {
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(p.CoreData, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	for i := range 5 {
		for range most {
			dial()
		}
		large := fmt.Sprint(i, strings.Repeat("kept", 100_000))
		if a := p.PostImage(large); a.Status != http.StatusOK {
			t.Fatalf("an upload: %d %s", a.Status, a.Body)
		}
		list := p.Call(http.MethodGet, p.CoreData+"/api/v2/reading/all", "", "").Body
		id := list[strings.Index(list, `{"id":"`)+7:][:36]
		if a := p.Call(http.MethodGet, p.CoreData+"/api/v2/reading/id/"+id+"/binary", "", ""); a.Body != large {
			t.Fatalf("a read: %d, %d bytes", a.Status, len(a.Body))
		}
	}
	for _, conn := range idle {
		conn.Close() // a stop waits 5 seconds for connections that were never used
	}
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
}

// A limit with which nothing could be served is refused at the start.
func TestTooFewDescriptors(t *testing.T) {
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("the test limits descriptors with prlimit: install Debian's package util-linux:", err)
	}
	p := ledgetest.LaunchUnder(t, []string{prlimit, "--nofile=60:60"}, t.TempDir())
	if code := p.Wait(); code != exit.Usage || !strings.Contains(p.Log.String(), "60 file descriptors are allowed, and 64 is the least; raise the limit") {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
}
