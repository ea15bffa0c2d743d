// Package mqtttest runs an MQTT broker for tests: Mosquitto.
package mqtttest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"ledge/bridge/porttest"
)

// hangs is how long a test waits for what must happen before it gives up.
const hangs = time.Minute

// Broker is a running Mosquitto.
type Broker struct {
	Port   int
	t      testing.TB
	config string
	cmd    *exec.Cmd
	more   chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

// Start runs Mosquitto with a configuration, in which PORT is a free port and DIR a folder with these files. The test is
// skipped where it is not installed.
func Start(t testing.TB, config string, files map[string]string) *Broker {
	t.Helper()
	if _, err := exec.LookPath(mosquitto()); err != nil {
		t.Skip("the broker is Mosquitto: Debian's package mosquitto is not installed")
	}
	dir := t.TempDir()
	for name, text := range files {
		mustWrite(t, filepath.Join(dir, name), text)
	}
	b := &Broker{t: t, Port: porttest.Hold(t), config: filepath.Join(dir, "mosquitto.conf"), more: make(chan struct{}, 1)}
	config = strings.NewReplacer("PORT", fmt.Sprint(b.Port), "DIR", dir).Replace(config)
	mustWrite(t, b.config, "log_dest stderr\nlog_type all\nuser root\n"+config)
	b.Run()
	return b
}

func mosquitto() string {
	if _, err := os.Stat("/usr/sbin/mosquitto"); err == nil { // where Debian has it, which is not in everybody's PATH
		return "/usr/sbin/mosquitto"
	}
	return "mosquitto"
}

func mustWrite(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Run runs the broker and returns when it listens.
func (b *Broker) Run() {
	b.t.Helper()
	running := b.Count(" running")
	b.cmd = exec.CommandContext(b.t.Context(), mosquitto(), "-c", b.config)
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
	b.Await(" running", running+1)
}

// Kill ends the broker as a crash does; Run runs it again.
func (b *Broker) Kill() {
	_ = b.cmd.Process.Kill()
	_, _ = b.cmd.Process.Wait()
}

// Signal sends the broker a signal.
func (b *Broker) Signal(s os.Signal) error { return b.cmd.Process.Signal(s) }

// Count returns how often the broker has logged a text.
func (b *Broker) Count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.log.String(), text)
}

// Await returns when the broker has logged a text n times.
func (b *Broker) Await(text string, n int) {
	b.t.Helper()
	deadline := time.After(hangs)
	for b.Count(text) < n {
		select {
		case <-b.more:
		case <-deadline:
			b.t.Fatalf("the broker has not logged %q %d times:\n%s", text, n, &b.log)
		}
	}
}

// Subscribe returns what a subscriber of everything, with a name and a password if need be, gets from now on.
func (b *Broker) Subscribe(account ...string) <-chan paho.Message {
	b.t.Helper()
	got := make(chan paho.Message, 1000)
	o := paho.NewClientOptions().AddBroker(fmt.Sprintf("tcp://127.0.0.1:%d", b.Port)).SetAutoReconnect(false) // the broker chooses the id
	if len(account) == 2 {
		o.SetUsername(account[0]).SetPassword(account[1])
	}
	c := paho.NewClient(o)
	for _, token := range []func() paho.Token{c.Connect, func() paho.Token {
		return c.Subscribe("#", 2, func(_ paho.Client, m paho.Message) { got <- m })
	}} {
		if t := token(); !t.WaitTimeout(hangs) || t.Error() != nil {
			b.t.Fatal(t.Error())
		}
	}
	b.t.Cleanup(func() { c.Disconnect(0) })
	return got
}

// StartWithAccount is Start with a broker that lets in only who has the password.
func StartWithAccount(t testing.TB, username, password string) *Broker {
	t.Helper()
	if _, err := exec.LookPath("mosquitto_passwd"); err != nil {
		t.Skip("the broker is Mosquitto: Debian's package mosquitto is not installed")
	}
	file := filepath.Join(t.TempDir(), "users")
	if out, err := exec.CommandContext(t.Context(), "mosquitto_passwd", "-b", "-c", file, username, password).CombinedOutput(); err != nil {
		t.Fatalf("mosquitto_passwd: %v: %s", err, out)
	}
	return Start(t, "listener PORT 127.0.0.1\nallow_anonymous false\npassword_file "+file+"\n", nil)
}
