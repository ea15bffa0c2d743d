package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/internal/exit"
)

// TestSecondProcess holds that a folder has one process, and that what is refused does the first no harm.
func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	want := fmt.Sprintf("is in use by process %d;", p.cmd.Process.Pid)
	for _, command := range []string{"serve", "rebuild"} {
		_, errs, code := ledge(t, command, "--data-dir", dir, "--metadata-port", "0", "--device-rest-port", "0", "--notifications-port", "0", "--console-port", "0", "--data-port", "0", "--tap-port", "0")
		if code != exit.InUse || !strings.Contains(errs, want) {
			t.Errorf("ledge %s: exit code %d, %q; want %d and %q", command, code, errs, exit.InUse, want)
		}
	}
	p.addDevice("after")
	p.kill()
	start(t, dir).addDevice("after-kill") // the lock went with the process
}

// upload is a request of which the server has the head and the first half of the body.
type upload struct {
	conn net.Conn
	in   *bufio.Reader
	rest string
}

// beginUpload returns when the server waits for the body: it asks for it then.
func beginUpload(t *testing.T, service, path, contentType, body string) *upload {
	t.Helper()
	host := strings.TrimPrefix(service, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, host, contentType, len(body))
	u := &upload{conn, bufio.NewReader(conn), body[len(body)/2:]}
	if line, err := u.in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = u.in.ReadString('\n')
	fmt.Fprint(conn, body[:len(body)/2])
	return u
}

// end sends the rest and returns the answer.
func (u *upload) end(t *testing.T) answer {
	t.Helper()
	fmt.Fprint(u.conn, u.rest)
	resp, err := http.ReadResponse(u.in, nil)
	if err != nil {
		t.Fatalf("a request in work was not answered: %v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(b), resp.Header}
}

// TestStopUnderLoad stops the process while clients work: what was in work on each service is answered, nothing
// acknowledged is lost, and the next start is that of a clean stop.
func TestStopUnderLoad(t *testing.T) {
	l, dir := newWorkload(t, *seed), t.TempDir()
	p := start(t, dir)
	l.run(p, 100, func() {
		var uploads []*upload
		for i := range 10 {
			uploads = append(uploads,
				beginUpload(t, p.metadata, "/api/v2/device", "application/json", "["+deviceJSON(fmt.Sprint("work-", i))+"]"),
				beginUpload(t, p.deviceREST, "/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat("work", imageWords+i)))
		}
		stopping(p)
		for _, u := range uploads {
			if a := u.end(t); !strings.Contains(a.body, `"statusCode":201`) && a.status != http.StatusOK {
				t.Errorf("a request in work at the stop: %d %s", a.status, a.body)
			}
		}
		if code := p.wait(); code != exit.OK {
			t.Errorf("exit code %d\n%s", code, p.log)
		}
	}, func(r refusal) { t.Logf("refused while stopping: %v", r) })
	if !hasMark(dir) {
		t.Error("no mark of a clean stop")
	}
	p = start(t, dir)
	l.settle(l.check(p, l.known()))
	for i := range 10 {
		p.get(fmt.Sprint(p.metadata, "/api/v2/device/name/work-", i), "device")
	}
	awaitNotified(t, p)
	p.stop()
	verify(t, dir)
	all := facts(t, dir)
	checkNotified(t, all)
	checkReadings(t, dir, all, l.acknowledged())
}

// TestStopWithStalledUpload stops the process while one client does not go on with its body: the stop ends without it,
// and takes nothing from a request on another service.
func TestStopWithStalledUpload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	beginUpload(t, p.deviceREST, "/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat("stalled", 1<<20))
	beginUpload(t, p.notifications, "/api/v2/subscription", "application/json", "["+strings.Repeat(" ", 1<<10)+"]")
	working := beginUpload(t, p.metadata, "/api/v2/device", "application/json", "["+deviceJSON("work")+"]")
	stopping(p)
	if a := working.end(t); !strings.Contains(a.body, `"statusCode":201`) {
		t.Errorf("a request in work at the stop: %d %s", a.status, a.body)
	}
	if code := p.wait(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	p = start(t, dir)
	p.get(p.metadata+"/api/v2/device/name/work", "device")
	p.stop()
	verify(t, dir)
}

// stopping sends SIGTERM and returns when no service takes new connections.
func stopping(p *process) {
	p.tb.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	for _, service := range []string{p.metadata, p.deviceREST, p.notifications} {
		until(p.tb, "the listeners to close", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(service, "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
	}
}
