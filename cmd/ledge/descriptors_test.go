package main

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
)

// TestOutOfDescriptors opens more idle connections than the process may have descriptors: uploads and reads of large values, for
// which files are opened, go on beside them.
func TestOutOfDescriptors(t *testing.T) {
	const most = 80
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("the test limits descriptors with prlimit: install Debian's package util-linux:", err)
	}
	p := launchUnder(t, []string{prlimit, fmt.Sprintf("--nofile=%d:%d", most, most)}, t.TempDir())
	if err := p.waitReady(); err != nil {
		t.Fatal(err, p.log)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	var idle []net.Conn
	dial := func() {
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(p.coreData, "http://"))
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
		if a := p.postImage(large); a.status != http.StatusOK {
			t.Fatalf("an upload: %d %s", a.status, a.body)
		}
		list := p.call(http.MethodGet, p.coreData+"/api/v2/reading/all", "", "").body
		id := list[strings.Index(list, `{"id":"`)+7:][:36]
		if a := p.call(http.MethodGet, p.coreData+"/api/v2/reading/id/"+id+"/binary", "", ""); a.body != large {
			t.Fatalf("a read: %d, %d bytes", a.status, len(a.body))
		}
	}
	for _, conn := range idle {
		conn.Close() // a stop waits 5 seconds for connections that were never used
	}
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
}

// A limit with which nothing could be served is refused at the start.
func TestTooFewDescriptors(t *testing.T) {
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("the test limits descriptors with prlimit: install Debian's package util-linux:", err)
	}
	p := launchUnder(t, []string{prlimit, "--nofile=60:60"}, t.TempDir())
	if code := p.wait(); code != exit.Usage || !strings.Contains(p.log.String(), "60 file descriptors are allowed, and 64 is the least; raise the limit") {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
}
