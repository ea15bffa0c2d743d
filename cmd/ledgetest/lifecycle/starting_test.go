package lifecycle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/server"
	"ledge/cmd/internal/server/servertest"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// heldStart is a start that folds the log, in this process, and is held up after the first part of it.
type heldStart struct {
	*server.Server
	tb      testing.TB
	release func()
	ended   chan error // what Run has returned
}

// folderToFold is a data folder with 10,000 devices, a few events more and no state. It returns the number of events too.
func folderToFold(t *testing.T) (dir string, events uint64) {
	t.Helper()
	dir = t.TempDir()
	p := ledgetest.Start(t, dir)
	devices := make([]string, 10_000)
	for i := range devices {
		devices[i] = ledgetest.DeviceJSON(fmt.Sprintf("d-%d", i))
	}
	a := p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", "["+strings.Join(devices, ",")+"]")
	if a.Status != http.StatusMultiStatus {
		t.Fatalf("%d %.200s", a.Status, a.Body)
	}
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	d := servertest.MustOpenNode(t, servertest.ConfigOf(t, "--data-dir", dir, "--disk-reserve", "1MiB"))
	events = d.Changes.Recorded()
	ledgetest.MustDo(t, d.Close())
	ledgetest.MustDo(t, os.Remove(filepath.Join(dir, datadir.StateFiles[0])))
	return dir, events
}

// holdStart starts on a folder and returns when the fold is held up. The clock of its progress holds it.
func holdStart(ctx context.Context, tb testing.TB, dir string, flags ...string) *heldStart {
	tb.Helper()
	c := config.Default()
	if err := c.Settings().Parse(slices.Concat(services.FreePorts("0"), []string{"--data-dir", dir, "--disk-reserve", "1MiB"}, flags)); err != nil {
		tb.Fatal(err)
	}
	fold := node.NewFoldLog(slog.New(slog.DiscardHandler))
	held, released := make(chan struct{}), make(chan struct{})
	fold.Now = func() time.Time {
		select {
		case held <- struct{}{}:
			<-released
		case <-released:
		}
		return time.Now()
	}
	p := &server.Server{Config: c, Logger: slog.New(slog.DiscardHandler), Fold: fold}
	h := &heldStart{p, tb, func() { close(released) }, make(chan error, 1)}
	go func() { h.ended <- h.Run(ctx) }()
	select {
	case <-held:
	case err := <-h.ended:
		tb.Fatalf("the start has ended before it was held up: %v", err)
	case <-time.After(ledgetest.Timeout):
		tb.Fatal("the start is not held up")
	}
	return h
}

// ready lets the start go on and waits for it.
func (h *heldStart) ready() {
	h.tb.Helper()
	h.release()
	if err := h.wait(); err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(h.Close)
}

func (h *heldStart) wait() error {
	h.tb.Helper()
	select {
	case err := <-h.ended:
		return err
	case <-time.After(ledgetest.Timeout):
		h.tb.Fatal("the start does not end")
		return nil
	}
}

// TestStartAnswers holds that each port says while the log is folded that the node is starting, and how far it has come, that nothing which
// is sent meanwhile has an effect, and that the services take over without a gap.
func TestStartAnswers(t *testing.T) {
	notify := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	dir, events := folderToFold(t)
	t.Setenv("NOTIFY_SOCKET", notify)
	var nats []string
	const natsHost, natsPort = "127.0.0.77", "14222" // no other test has them
	if runtime.GOOS == "linux" {
		nats = []string{"--nats-host", natsHost, "--nats-port", natsPort}
	}
	h := holdStart(t.Context(), t, dir, nats...)
	if c, err := net.Dial("tcp", net.JoinHostPort(natsHost, natsPort)); nats != nil && err == nil {
		c.Close()
		t.Error("the bus is open while the log is folded")
	}
	says := regexp.MustCompile(fmt.Sprintf("[1-9][0-9] %% of %d events of state.db are folded", events))
	progress := says.FindString(h.call(http.MethodGet, h.URL(services.Metadata)+"/api/v2/ping", "").Body)
	if progress == "" {
		t.Fatal("the ping does not say how far the fold has come")
	}
	refuses := func(method, url, body, end string) {
		t.Helper()
		a := h.call(method, url, body, "Idempotency-Key", "early")
		want := `{"apiVersion":"v2","message":"the node is starting: ` + progress + `; try again in 5 seconds",` + end + "\n"
		if a.Status != http.StatusServiceUnavailable || a.Body != want || a.Header.Get("Retry-After") != "5" {
			t.Errorf("%s %s: %d %v\n%swant 503\n%s", method, url, a.Status, a.Header, a.Body, want)
		}
	}
	url := h.URL
	for service, name := range map[string]string{
		services.Metadata: "metadata", services.Data: "data", services.DeviceREST: "devicerest", services.Notifications: "notifications",
	} {
		ledgetest.Contracts.Know(name, url(service))
		refuses(http.MethodGet, url(service)+"/api/v2/ping", "", `"statusCode":503}`)
		refuses(http.MethodGet, url(service)+"/api/v2/health", "", `"statusCode":503,"status":"starting"}`)
		refuses(http.MethodGet, url(service)+"/metrics", "", `"statusCode":503}`)
	}
	device := "[" + ledgetest.DeviceJSON("early") + "]"
	refuses(http.MethodPost, url(services.Metadata)+"/api/v2/device", device, `"statusCode":503}`)
	refuses(http.MethodGet, url(services.Metadata)+"/api/v2/device/name/d-1", "", `"statusCode":503}`)
	page := h.call(http.MethodGet, url(services.Console)+"/devices", "")
	again := page.Header.Get("Retry-After") == "5" && strings.Contains(page.Body, `http-equiv="refresh" content="5"`)
	if page.Status != http.StatusServiceUnavailable || !again || !strings.Contains(page.Body, progress) {
		t.Errorf("console: %d %v %s", page.Status, page.Header, page.Body)
	}
	if csp := page.Header.Get("Content-Security-Policy"); strings.Contains(csp, "sandbox") {
		t.Errorf("a page in a sandbox does not load itself again: %s", csp)
	}
	for _, command := range [][]string{{"health"}, {"user", "list"}} {
		out, errs, code := ledgetest.Run(t, append(command, "--data-dir", dir)...)
		if code != exit.Failure || out != "" || !strings.Contains(errs, "the server is starting: "+progress) {
			t.Errorf("ledge %v: exit code %d: %s%s", command, code, out, errs)
		}
	}
	h.refusesUnread(url(services.Metadata))
	kept := h.dial(url(services.Metadata))
	if status, _ := kept.get(); status != http.StatusServiceUnavailable {
		t.Errorf("ping: %d", status)
	}
	if err := tellHeld(notify); err != nil {
		t.Fatal(err)
	}

	asking := make(chan error, 1)
	go func() { asking <- askUntilReady(url(services.Metadata) + "/api/v2/ping") }()
	h.ready()
	if err := <-asking; err != nil {
		t.Error(err)
	}
	if status, body := kept.get(); status != http.StatusOK || !strings.Contains(body, "core-metadata") {
		t.Errorf("ping on the connection of before: %d %s", status, body)
	}
	if last := h.Node.Changes.Recorded(); last != events {
		t.Errorf("the log has %d events: a request of before has left one", last)
	}
	a := h.call(http.MethodPost, url(services.Metadata)+"/api/v2/device", device, "Idempotency-Key", "early")
	if !strings.Contains(a.Body, `"statusCode":201`) {
		t.Errorf("the device, sent again: %d %s", a.Status, a.Body)
	}
	if nats != nil {
		c, err := net.Dial("tcp", net.JoinHostPort(natsHost, natsPort))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	heard := hearUntil(t, socket, "READY=1")
	if heard[0] != heldMark {
		t.Errorf("systemd heard %q", heard)
	}
}

func (h *heldStart) call(method, url, body string, header ...string) ledgetest.Answer {
	h.tb.Helper()
	a, err := ledgetest.TryCall(method, url, "application/json", body, header...)
	if err != nil {
		h.tb.Fatal(err)
	}
	return a
}

// refusesUnread sends the header of a request with a body, and holds that the answer does not wait for the body and ends the connection.
func (h *heldStart) refusesUnread(url string) {
	h.tb.Helper()
	c := h.dial(url)
	fmt.Fprintf(c, "POST /api/v2/device HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
	text, err := io.ReadAll(c)
	if err != nil || !bytes.HasPrefix(text, []byte("HTTP/1.1 503 ")) {
		h.tb.Errorf("a body that does not come: %v %s", err, text)
	}
}

// dialled is a connection that is kept alive.
type dialled struct {
	net.Conn
	in *bufio.Reader
	tb testing.TB
}

func (h *heldStart) dial(url string) dialled {
	h.tb.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(ledgetest.Timeout))
	return dialled{c, bufio.NewReader(c), h.tb}
}

// get asks for a ping.
func (d dialled) get() (status int, body string) {
	d.tb.Helper()
	fmt.Fprintf(d, "GET /api/v2/ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(d.in, nil)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.tb.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// askUntilReady asks on new connections and returns what is neither 503 nor 200.
func askUntilReady(url string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: ledgetest.Timeout}
	for deadline := time.Now().Add(ledgetest.Timeout); time.Now().Before(deadline); {
		resp, err := client.Get(url)
		if err != nil {
			return fmt.Errorf("a gap: %w", err)
		}
		resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			return nil
		case http.StatusServiceUnavailable:
		default:
			return fmt.Errorf("ping: %s", resp.Status)
		}
	}
	return errors.New("ping does not become 200")
}

// heldMark is what the test tells systemd's socket while the start is held up.
const heldMark = "HELD=1"

func tellHeld(path string) error {
	c, err := net.Dial("unixgram", path)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.WriteString(c, heldMark)
	return err
}

// hearUntil returns what systemd hears until one thing, with that.
func hearUntil(t *testing.T, socket *net.UnixConn, last string) (heard []string) {
	t.Helper()
	_ = socket.SetReadDeadline(time.Now().Add(ledgetest.Timeout))
	for message := make([]byte, 256); ; {
		n, err := socket.Read(message)
		if err != nil {
			t.Fatalf("systemd heard %q: %v", heard, err)
		}
		if heard = append(heard, string(message[:n])); heard[len(heard)-1] == last {
			return heard
		}
	}
}

// TestSecureStartAnswers holds that in secure mode the ports have TLS from the beginning, and say no more than that the node is starting.
func TestSecureStartAnswers(t *testing.T) {
	t.Parallel()
	dir, _ := folderToFold(t)
	h := holdStart(t.Context(), t, dir, "--secure")
	ca, stderr, code := ledgetest.Run(t, "ca", "--data-dir", dir)
	if code != exit.OK {
		t.Fatalf("ledge ca: %d %s", code, stderr)
	}
	get := ledgetest.OverTLS(t, ca, ledgetest.Client13)
	for _, path := range []string{"/api/v2/ping", "/api/v2/health", "/metrics", "/api/v2/config"} {
		a, err := get(h.URL(services.Metadata) + path)
		const says = `"message":"the node is starting; try again in 5 seconds"`
		if err != nil || a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, says) {
			t.Errorf("%s: %d %s %v", path, a.Status, a.Body, err)
		}
	}
	if a, err := get(h.URL(services.Console)); err != nil || a.Status != http.StatusServiceUnavailable || strings.Contains(a.Body, "%") {
		t.Errorf("console: %d %s %v", a.Status, a.Body, err)
	}
	plain := strings.Replace(h.URL(services.Metadata), "https", "http", 1)
	if a, err := ledgetest.TryCall(http.MethodGet, plain+"/api/v2/ping", "", ""); err != nil || a.Status != http.StatusBadRequest {
		t.Errorf("plain HTTP: %d %s %v", a.Status, a.Body, err)
	}
	h.ready()
	if a, err := get(h.URL(services.Metadata) + "/api/v2/ping"); err != nil || a.Status != http.StatusOK {
		t.Errorf("ping: %d %s %v", a.Status, a.Body, err)
	}
}

// TestStartIsStopped holds that a stop ends a fold, and gives ports, folder and socket back. The next start folds the rest.
func TestStartIsStopped(t *testing.T) {
	t.Parallel()
	dir, _ := folderToFold(t)
	ctx, stop := context.WithCancel(t.Context())
	host := "127.0.0.1"
	if runtime.GOOS == "linux" { // the whole of 127/8 is there, and another test may take a port of 127.0.0.1 as soon as it is free
		host = "127.0.61.1"
	}
	h := holdStart(ctx, t, dir, "--metadata-port", host+":0")
	address := h.Address(services.Metadata)
	stop()
	h.release()
	if err := h.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("the start has ended with %v", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := os.Lstat(filepath.Join(dir, datadir.AdminSocketFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	p := ledgetest.Start(t, dir)
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/d-9999", "", ""); a.Status != http.StatusOK {
		t.Errorf("a device: %d %s", a.Status, a.Body)
	}
}
