package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// atEnd is called when all tests are done.
var atEnd []func()

// binary is the real program, built once for all tests of this package.
var binary string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == natsCommand {
		os.Exit(runNATS(os.Args[1:]))
	}
	dir, err := os.MkdirTemp("", "ledge-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if binary = os.Getenv("TEST_LEDGE_BINARY"); binary == "" { // `make test` has built it
		binary = filepath.Join(dir, "ledge")
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build ledge: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	http.DefaultTransport = contracts
	code := contracts.report(m.Run())
	for _, f := range atEnd {
		f()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// hangs is how long a test waits for what must happen before it gives up; nothing is measured with it.
const hangs = time.Minute

// process is a running `ledge serve` on free ports.
type process struct {
	tb  testing.TB
	cmd *exec.Cmd
	dir string
	log *syncBuffer

	metadata, coreData, deviceREST, notifications, console, tap string // addresses, as the ready line gives them
	exited                                                      chan struct{}
	err                                                         error
}

// start runs the binary on dir and returns when it is ready.
func start(tb testing.TB, dir string, flags ...string) *process {
	tb.Helper()
	p := launch(tb, dir, flags...)
	if err := p.waitReady(); err != nil {
		tb.Fatalf("ledge serve: %v\n%s", err, p.log)
	}
	return p
}

// launch runs the binary on dir without waiting for it.
func launch(tb testing.TB, dir string, flags ...string) *process {
	tb.Helper()
	return launchUnder(tb, nil, dir, flags...)
}

// launchUnder is launch with another program, such as a tracer, that runs the binary.
func launchUnder(tb testing.TB, runner []string, dir string, flags ...string) *process {
	tb.Helper()
	return launchCommand(tb, serveCommand(runner, dir, flags...), dir)
}

// serveCommand is `ledge serve` on free ports, run by another program, if there is one.
func serveCommand(runner []string, dir string, flags ...string) *exec.Cmd {
	args := append(append(slices.Clone(runner), binary), append([]string{
		"serve", "--data-dir", dir, "--log-format", "json", "--metadata-port", "0", "--device-rest-port", "0",
		"--notifications-port", "0", "--console-port", "0", "--data-port", "0", "--tap-port", "0", "--disk-reserve", "1MiB",
	}, flags...)...)
	return exec.Command(args[0], args[1:]...)
}

// launchCommand runs a command that serves dir.
func launchCommand(tb testing.TB, cmd *exec.Cmd, dir string) *process {
	tb.Helper()
	return launchBy(tb, (*exec.Cmd).Start, cmd, dir)
}

// launchBy is launchCommand with another way to start the command.
func launchBy(tb testing.TB, begin func(*exec.Cmd) error, cmd *exec.Cmd, dir string) *process {
	tb.Helper()
	p := &process{tb: tb, cmd: cmd, dir: dir, log: &syncBuffer{more: make(chan struct{}, 1)}, exited: make(chan struct{})}
	p.cmd.Stderr = p.log
	if err := begin(p.cmd); err != nil {
		tb.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.exited) }()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		p.forget()
	})
	return p
}

func (p *process) waitReady() error {
	deadline := time.After(hangs)
	for {
		if line, ok := p.log.find(`"msg":"ready"`); ok {
			p.metadata, p.coreData, p.deviceREST = field(line, "metadata"), field(line, "core-data"), field(line, "device-rest")
			p.notifications, p.console, p.tap = field(line, "notifications"), field(line, "console"), field(line, "tap")
			contracts.know("metadata", p.metadata)
			contracts.know("data", p.coreData)
			contracts.know("devicerest", p.deviceREST)
			contracts.know("notifications", p.notifications)
			return nil
		}
		select {
		case <-p.log.more:
		case <-p.exited:
			return fmt.Errorf("exited: %v", p.err)
		case <-deadline:
			return fmt.Errorf("not ready after %v", hangs)
		}
	}
}

func field(line, name string) string {
	var all map[string]any
	_ = json.Unmarshal([]byte(line), &all)
	s, _ := all[name].(string)
	return s
}

// stop ends the process with SIGTERM and returns its exit code.
func (p *process) stop() int {
	p.tb.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.wait()
}

// kill ends the process as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
	p.forget()
}

// forget is for a process that has ended: a parallel test may have its ports soon.
func (p *process) forget() { contracts.forget(p.metadata, p.coreData, p.deviceREST, p.notifications) }

// wait returns the exit code.
func (p *process) wait() int {
	p.tb.Helper()
	select {
	case <-p.exited:
		p.forget()
	case <-time.After(hangs):
		p.tb.Fatalf("ledge does not end\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// syncBuffer collects what a process prints.
type syncBuffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{}
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// find returns the first whole line that contains text.
func (s *syncBuffer) find(text string) (string, bool) {
	lines := bufio.NewReader(strings.NewReader(s.String()))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", false
		}
		if strings.Contains(line, text) {
			return line, true
		}
	}
}

// answer is what came back from a request.
type answer struct {
	status int
	body   string
	header http.Header
}

// call sends a request and returns the answer; the test ends where there is none. header has names, each with its value.
func (p *process) call(method, url, contentType, body string, header ...string) answer {
	p.tb.Helper()
	a, err := tryCall(method, url, contentType, body, header...)
	if err != nil {
		p.tb.Fatalf("%s %s: %v\n%s", method, url, err, p.log)
	}
	return a
}

func tryCall(method, url, contentType, body string, header ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(b), resp.Header}, err
}

// postJSON posts and holds that the answer is 207 with one item of each status wanted, in order.
func (p *process) postJSON(method, url, body string, want ...int) answer {
	p.tb.Helper()
	a := p.call(method, url, "application/json", body)
	var items []struct {
		StatusCode int
		Message    string
	}
	if err := json.Unmarshal([]byte(a.body), &items); err != nil || a.status != http.StatusMultiStatus || len(items) != len(want) {
		p.tb.Fatalf("%s %s: got %d %s, want 207 with %v", method, url, a.status, a.body, want)
	}
	for i, item := range items {
		if item.StatusCode != want[i] {
			p.tb.Fatalf("%s %s: item %d: got %d %q, want %d", method, url, i, item.StatusCode, item.Message, want[i])
		}
	}
	return a
}

// deviceJSON is a device of device-rest with the sample profile, as posted.
func deviceJSON(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","device":{"name":%q,"adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"sample-image","protocolName":"rest","protocols":{"other":{}}}}`, name)
}

func (p *process) addDevice(name string) {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+deviceJSON(name)+"]", http.StatusCreated)
}

// ledge runs a subcommand on the data folder and returns its output and exit code.
func ledge(tb testing.TB, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	stdout, stderr, code, err := runLedge(tb.Context(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	return stdout, stderr, code
}

// runLedge is ledge with an error where the program does not run.
func runLedge(ctx context.Context, args ...string) (stdout, stderr string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		return "", "", 0, fmt.Errorf("ledge %v: %w", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode(), nil
}

// machineAddress is one that is no loopback address, where the machine has one.
func machineAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			return ip.IP.String()
		}
	}
	return "127.0.0.1"
}
