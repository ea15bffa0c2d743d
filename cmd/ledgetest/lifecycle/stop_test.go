package lifecycle

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
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// TestSecondProcess holds that a folder has one process, and that what is refused does the first no harm.
func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	want := fmt.Sprintf("is in use by process %d;", p.Cmd.Process.Pid)
	for _, command := range []string{"serve", "rebuild"} {
		_, errs, code := ledgetest.Run(t, append([]string{command, "--data-dir", dir}, services.FreePorts("0")...)...)
		if code != exit.InUse || !strings.Contains(errs, want) {
			t.Errorf("ledge %s: exit code %d, %q; want %d and %q", command, code, errs, exit.InUse, want)
		}
	}
	p.AddDevice("after")
	p.Kill()
	ledgetest.Start(t, dir).AddDevice("after-kill") // the lock went with the process
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
func (u *upload) end(t *testing.T) ledgetest.Answer {
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
	return ledgetest.Answer{Status: resp.StatusCode, Body: string(b), Header: resp.Header}
}

// TestStopUnderLoad stops the process while clients work: what was in work on each service is answered, nothing
// acknowledged is lost, and the next start is that of a clean stop.
func TestStopUnderLoad(t *testing.T) {
	l, dir := ledgetest.NewWorkload(t, *ledgetest.Seed), t.TempDir()
	p := ledgetest.Start(t, dir)
	l.Run(p, 100, func() {
		var uploads []*upload
		for i := range 10 {
			uploads = append(uploads,
				beginUpload(t, p.Metadata, "/api/v2/device", "application/json", "["+ledgetest.DeviceJSON(fmt.Sprint("work-", i))+"]"),
				beginUpload(t, p.DeviceREST, "/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat("work", ledgetest.ImageWords+i)))
		}
		stopping(p)
		for _, u := range uploads {
			if a := u.end(t); !strings.Contains(a.Body, `"statusCode":201`) && a.Status != http.StatusOK {
				t.Errorf("a request in work at the stop: %d %s", a.Status, a.Body)
			}
		}
		if code := p.Wait(); code != exit.OK {
			t.Errorf("exit code %d\n%s", code, p.Log)
		}
	}, func(r ledgetest.Refusal) { t.Logf("refused while stopping: %v", r) })
	if !ledgetest.HasCleanMark(dir) {
		t.Error("no mark of a clean stop")
	}
	p = ledgetest.Start(t, dir)
	l.Settle(l.Check(p, l.Known()))
	for i := range 10 {
		p.Get(fmt.Sprint(p.Metadata, "/api/v2/device/name/work-", i), "device")
	}
	ledgetest.AwaitNotified(t, p)
	p.Stop()
	ledgetest.Verify(t, dir)
	all := ledgetest.Facts(t, dir)
	ledgetest.CheckNotified(t, all)
	ledgetest.CheckReadings(t, dir, all, l.Acknowledged())
}

// TestStopWithStalledUpload stops the process while one client does not go on with its body: the stop ends without it,
// and takes nothing from a request on another service.
func TestStopWithStalledUpload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	beginUpload(t, p.DeviceREST, "/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat("stalled", 1<<20))
	beginUpload(t, p.Notifications, "/api/v2/subscription", "application/json", "["+strings.Repeat(" ", 1<<10)+"]")
	working := beginUpload(t, p.Metadata, "/api/v2/device", "application/json", "["+ledgetest.DeviceJSON("work")+"]")
	stopping(p)
	if a := working.end(t); !strings.Contains(a.Body, `"statusCode":201`) {
		t.Errorf("a request in work at the stop: %d %s", a.Status, a.Body)
	}
	if code := p.Wait(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	p = ledgetest.Start(t, dir)
	p.Get(p.Metadata+"/api/v2/device/name/work", "device")
	p.Stop()
	ledgetest.Verify(t, dir)
}

// stopping sends SIGTERM and returns when no service takes new connections.
func stopping(p *ledgetest.Node) {
	p.TB.Helper()
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	for _, service := range []string{p.Metadata, p.DeviceREST, p.Notifications} {
		ledgetest.Until(p.TB, "the listeners to close", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(service, "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
	}
}

// The last line of the program's log is that it has stopped, after all that is closed at a stop.
func TestStoppedIsTheLastLine(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.Stop()
	lines := strings.Split(strings.TrimSpace(p.Log.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `"msg":"stopped"`) {
		t.Errorf("the last line is %s", last)
	}
}
