package cli

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// What cannot be printed is said, with an exit code that is not 0.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("the test writes to /dev/full, and this system does not have it:", err)
	}
	defer full.Close()
	p := ledgetest.Start(t, t.TempDir())
	for _, command := range []string{"config", "verify", "log", "version", "help"} {
		var said strings.Builder
		cmd := exec.Command(ledgetest.Binary, command)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "LEDGE_DATA_DIR="+p.Dir), full, &said
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exit.Failure || !strings.Contains(said.String(), "no space left") {
			t.Errorf("ledge %s: exit code %d, %q; want %d and why", command, code, said.String(), exit.Failure)
		}
	}
}

// Where who reads the log goes away, as a grep that has enough, the services go on, and the stop is clean.
func TestLogReaderGoes(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(ledgetest.Binary, "serve", "--data-dir", t.TempDir(), "--metadata-port", "0", "--device-rest-port", "0",
		"--notifications-port", "0", "--console-port", "0", "--data-port", "0", "--nats-port", "0")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(ledgetest.Timeout, func() { _ = cmd.Process.Kill() }).Stop()
	w.Close()
	lines := bufio.NewScanner(r)
	for lines.Scan() && !strings.Contains(lines.Text(), `"msg":"ready"`) {
	}
	if !strings.Contains(lines.Text(), `"msg":"ready"`) {
		t.Errorf("%q, %v", lines.Text(), lines.Err())
	}
	r.Close()
	_ = cmd.Process.Signal(syscall.SIGTERM) // "stopping" is the first line that nobody reads
	if err := cmd.Wait(); err != nil {
		t.Errorf("ledge serve: %v", err)
	}
}

// That no more clients can connect, since the process may open few files, is in its log.
func TestNoFilesLeft(t *testing.T) {
	p := ledgetest.LaunchUnder(t, []string{"sh", "-c", `ulimit -n 64; exec "$@"`, "sh"}, t.TempDir())
	if err := p.WaitReady(); err != nil {
		t.Fatalf("ledge serve: %v\n%s", err, p.Log)
	}
	for range 64 {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.CoreData, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	p.WaitLog(`"level":"WARN","msg":"the limit of connections is reached`)
}
