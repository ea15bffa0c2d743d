package mqtt

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// hangs is how long a test waits for what must happen before it gives up.
const hangs = time.Minute

// broker is a running Mosquitto.
type broker struct {
	t      *testing.T
	port   int
	config string
	cmd    *exec.Cmd
	more   chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

// mustBroker starts Mosquitto with a configuration, in which PORT is a free port and DIR a folder with these files.
func mustBroker(t *testing.T, config string, files map[string]string) *broker {
	t.Helper()
	if _, err := exec.LookPath(mosquitto()); err != nil {
		t.Skip("the broker is Mosquitto: Debian's package mosquitto is not installed")
	}
	dir := t.TempDir()
	for name, text := range files {
		mustWrite(t, filepath.Join(dir, name), text)
	}
	b := &broker{t: t, port: freePort(t), config: filepath.Join(dir, "mosquitto.conf"), more: make(chan struct{}, 1)}
	config = strings.NewReplacer("PORT", fmt.Sprint(b.port), "DIR", dir).Replace(config)
	mustWrite(t, b.config, "log_dest stderr\nlog_type all\nuser root\n"+config)
	b.start()
	return b
}

func mosquitto() string {
	if _, err := os.Stat("/usr/sbin/mosquitto"); err == nil { // where Debian has it, which is not in everybody's PATH
		return "/usr/sbin/mosquitto"
	}
	return "mosquitto"
}

func mustWrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start runs the broker and returns when it listens.
func (b *broker) start() {
	b.t.Helper()
	running := b.count(" running")
	b.cmd = exec.Command(mosquitto(), "-c", b.config)
	out, err := b.cmd.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	cmd, read := b.cmd, make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			b.mu.Lock()
			b.log.WriteString(lines.Text() + "\n")
			b.mu.Unlock()
			select {
			case b.more <- struct{}{}:
			default:
			}
		}
	}()
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	b.await(" running", running+1)
}

func (b *broker) kill() {
	_ = b.cmd.Process.Kill()
	_, _ = b.cmd.Process.Wait()
}

func (b *broker) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.log.String(), text)
}

// await returns when the broker has logged a text n times.
func (b *broker) await(text string, n int) {
	b.t.Helper()
	deadline := time.After(hangs)
	for b.count(text) < n {
		select {
		case <-b.more:
		case <-deadline:
			b.t.Fatalf("the broker has not logged %q %d times:\n%s", text, n, &b.log)
		}
	}
}
