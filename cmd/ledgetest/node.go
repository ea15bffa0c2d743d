// Package ledgetest starts and asks real nodes for the tests in the packages below it. This package knows the binary alone: its
// commands, ports and files. So the tests hold what users were promised, and stay as they are when the code changes.
package ledgetest

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

	"ledge/cmd/internal/services"
)

// Binary is the program under test.
var Binary string

// AtEnd has what Main calls after all tests.
var AtEnd []func()

// Main runs the tests of a package against the program, and returns the exit code for TestMain. TEST_LEDGE_BINARY names the program; without
// it, Main builds one. Main checks each exchange of the tests with a service against its OpenAPI document.
func Main(m *testing.M) int {
	if filepath.Base(os.Args[0]) == NATSCommand {
		return RunNATS(os.Args[1:])
	}
	dir, err := os.MkdirTemp("", "ledge-test-*")
	if err == nil {
		err = findPythonModules()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if Binary = os.Getenv("TEST_LEDGE_BINARY"); Binary == "" { // `make test` has built it
		Binary = filepath.Join(dir, "ledge")
		build := exec.Command("go", "build", "-o", Binary, "ledge/cmd/ledge")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build ledge: %v\n%s", err, out)
			return 1
		}
	}
	http.DefaultTransport = Contracts
	code := Contracts.report(m.Run())
	for _, f := range AtEnd {
		f()
	}
	return code
}

// Repo returns the path of a file of the repository.
func Repo(elem ...string) string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// Timeout is how long a test waits for what must happen before it gives up; nothing is measured with it.
const Timeout = time.Minute

// Node is a running `ledge serve` on free ports.
type Node struct {
	TB  testing.TB
	Cmd *exec.Cmd
	Dir string
	Log *Output

	URLs                                                         map[string]string // of the HTTP services by name, as the ready line gives them
	Metadata, CoreData, DeviceREST, Notifications, Console, NATS string            // some of them, and the NATS bus
	Exited                                                       chan struct{}
	Err                                                          error
}

// Start runs the binary on dir and returns when it is ready.
func Start(tb testing.TB, dir string, flags ...string) *Node {
	tb.Helper()
	p := Launch(tb, dir, flags...)
	if err := p.WaitReady(); err != nil {
		tb.Fatalf("ledge serve: %v\n%s", err, p.Log)
	}
	return p
}

// Launch runs the binary on dir without waiting for it.
func Launch(tb testing.TB, dir string, flags ...string) *Node {
	tb.Helper()
	return LaunchUnder(tb, nil, dir, flags...)
}

// LaunchUnder is Launch with another program, such as a tracer, that runs the binary.
func LaunchUnder(tb testing.TB, runner []string, dir string, flags ...string) *Node {
	tb.Helper()
	return LaunchCommand(tb, ServeCommand(runner, dir, flags...), dir)
}

// ServeCommand is `ledge serve` on free ports, run by another program, if there is one.
func ServeCommand(runner []string, dir string, flags ...string) *exec.Cmd {
	args := append(slices.Clone(runner), Binary, "serve", "--data-dir", dir, "--disk-reserve", "1MiB")
	args = slices.Concat(args, services.FreePorts("0"), flags)
	return exec.Command(args[0], args[1:]...)
}

// LaunchCommand runs a command that serves dir.
func LaunchCommand(tb testing.TB, cmd *exec.Cmd, dir string) *Node {
	tb.Helper()
	return LaunchBy(tb, (*exec.Cmd).Start, cmd, dir)
}

// LaunchBy is LaunchCommand with another way to start the command.
func LaunchBy(tb testing.TB, begin func(*exec.Cmd) error, cmd *exec.Cmd, dir string) *Node {
	tb.Helper()
	p := &Node{TB: tb, Cmd: cmd, Dir: dir, Log: &Output{More: make(chan struct{}, 1)}, Exited: make(chan struct{})}
	p.Cmd.Stderr = p.Log
	if err := begin(p.Cmd); err != nil {
		tb.Fatal(err)
	}
	go func() { p.Err = p.Cmd.Wait(); close(p.Exited) }()
	tb.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		<-p.Exited
		p.forget()
	})
	return p
}

// WaitReady waits until the node has said that it is ready, and notes its addresses. The error says that it has ended, or that Timeout is over.
func (p *Node) WaitReady() error {
	deadline := time.After(Timeout)
	for {
		if line, ok := p.Log.Find(`"msg":"ready"`); ok {
			p.URLs = map[string]string{}
			for _, one := range services.All {
				p.URLs[one.Name] = LogField(line, one.Key)
			}
			for _, one := range services.REST() {
				Contracts.Know(one.Folder, p.URLs[one.Name])
			}
			p.Metadata, p.CoreData, p.DeviceREST = p.URLs[services.Metadata], p.URLs[services.Data], p.URLs[services.DeviceREST]
			p.Notifications, p.Console, p.NATS = p.URLs[services.Notifications], p.URLs[services.Console], LogField(line, "nats")
			return nil
		}
		select {
		case <-p.Log.More:
		case <-p.Exited:
			return fmt.Errorf("exited: %v", p.Err)
		case <-deadline:
			return fmt.Errorf("not ready after %v", Timeout)
		}
	}
}

// LogField returns a text field of a line of the log, which is JSON.
func LogField(line, name string) string {
	var all map[string]any
	_ = json.Unmarshal([]byte(line), &all)
	s, _ := all[name].(string)
	return s
}

// Stop ends the process with SIGTERM and returns its exit code.
func (p *Node) Stop() int {
	p.TB.Helper()
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	return p.Wait()
}

// Kill ends the process as a crash does.
func (p *Node) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Exited
	p.forget()
}

// forget is for a process that has ended: a parallel test may have its ports soon.
func (p *Node) forget() {
	for _, url := range p.URLs {
		Contracts.Forget(url)
	}
}

// Wait returns the exit code.
func (p *Node) Wait() int {
	p.TB.Helper()
	select {
	case <-p.Exited:
		p.forget()
	case <-time.After(Timeout):
		p.TB.Fatalf("ledge does not end\n%s", p.Log)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Output collects what a process prints.
type Output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	More chan struct{}
}

func (s *Output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.More <- struct{}{}:
	default:
	}
	return s.b.Write(p)
}

func (s *Output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Find returns the first whole line that contains text.
func (s *Output) Find(text string) (string, bool) {
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

// Answer is what came back from a request.
type Answer struct {
	Status int
	Body   string
	Header http.Header
}

// Call sends a request and returns the answer; the test ends where there is none. header has names, each with its value.
func (p *Node) Call(method, url, contentType, body string, header ...string) Answer {
	p.TB.Helper()
	a, err := TryCall(method, url, contentType, body, header...)
	if err != nil {
		p.TB.Fatalf("%s %s: %v\n%s", method, url, err, p.Log)
	}
	return a
}

// TryCall is Node.Call that returns its error.
func TryCall(method, url, contentType, body string, header ...string) (Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, string(b), resp.Header}, err
}

// PostJSON posts and holds that the answer is 207 with one item of each status wanted, in order.
func (p *Node) PostJSON(method, url, body string, want ...int) Answer {
	p.TB.Helper()
	a := p.Call(method, url, "application/json", body)
	var items []struct {
		StatusCode int
		Message    string
	}
	if err := json.Unmarshal([]byte(a.Body), &items); err != nil || a.Status != http.StatusMultiStatus || len(items) != len(want) {
		p.TB.Fatalf("%s %s: got %d %s, want 207 with %v", method, url, a.Status, a.Body, want)
	}
	for i, item := range items {
		if item.StatusCode != want[i] {
			p.TB.Fatalf("%s %s: item %d: got %d %q, want %d", method, url, i, item.StatusCode, item.Message, want[i])
		}
	}
	return a
}

// DeviceJSON is a device of device-rest with the sample profile, as posted.
func DeviceJSON(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","device":{"name":%q,"adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"sample-image","protocolName":"rest","protocols":{"other":{}}}}`, name)
}

// AddDevice adds a device of device-rest with the sample profile.
func (p *Node) AddDevice(name string) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+DeviceJSON(name)+"]", http.StatusCreated)
}

// Run runs a subcommand on the data folder and returns its output and exit code.
func Run(tb testing.TB, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	stdout, stderr, code, err := TryRun(tb.Context(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	return stdout, stderr, code
}

// TryRun is ledge with an error if the program does not run. A server that a test starts to fail has free ports unless the arguments have
// others: it may listen before it fails.
func TryRun(ctx context.Context, args ...string) (stdout, stderr string, code int, err error) {
	if len(args) > 0 && args[0] == "serve" {
		args = slices.Concat(args[:1], services.FreePorts("0"), args[1:])
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		return "", "", 0, fmt.Errorf("ledge %v: %w", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode(), nil
}

// MachineAddress returns an address of this machine beyond loopback, or 127.0.0.1 if there are no others.
func MachineAddress(t *testing.T) string {
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
