package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ledge/cmd/internal/services"
)

const (
	startLimit = 30 * time.Second
	stopLimit  = 10 * time.Second
)

// process is a server of its own: Ledge or the bare one. It ends with stop, or with the context.
type process struct {
	cmd      *exec.Cmd
	stdin    io.Closer // open as long as it is wanted
	exited   chan struct{}
	took     time.Duration // from exec to the ready line
	metadata string        // address host:port, as the ready line has it
	notes    string        // that of the notifications service
	data     string        // that of core-data
	// deviceREST is that of device-rest.
	deviceREST string
	console    string // that of the console
	nats       string // the URL for NATS clients
	mqtt       string // the address for MQTT clients, if they are served
	// tls and token are those of secure mode; nil and empty in open mode.
	tls   *tls.Config
	token string
}

func (b *bench) startLedge(ctx context.Context, dir string, flags ...string) (*process, error) {
	args := append([]string{"serve", "--data-dir", dir}, services.FreePorts("0")...)
	if b.profiles != "" {
		path, err := newProfile(b.profiles)
		if err != nil {
			return nil, err
		}
		args = append(args, "--cpu-profile", path)
	}
	return start(ctx, b.ledge, append(args, flags...)...)
}

func startBare(ctx context.Context, dir string) (*process, error) { return startAs(ctx, bareFlag, dir) }

// startAs starts this program as one of the bareServers.
func startAs(ctx context.Context, flag, dir string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, self, flag, filepath.Join(dir, strings.TrimPrefix(flag, "-")))
}

// startBoth starts Ledge and the bare server in a folder of their own; stop stops both and removes it.
func (b *bench) startBoth(ctx context.Context, name string) (both [2]*process, dir string, stop func(), err error) {
	dir, done, err := b.folder(name)
	if err != nil {
		return both, "", nil, err
	}
	if both[0], err = b.startLedge(ctx, dir); err != nil {
		done()
		return both, "", nil, err
	}
	if both[1], err = startBare(ctx, dir); err != nil {
		both[0].stop()
		done()
		return both, "", nil, err
	}
	return both, dir, func() { both[1].stop(); both[0].stop(); done() }, nil
}

// start returns when the process has printed its ready line.
func start(ctx context.Context, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, name, args...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "LEDGE_CONFIG=")
	p.cmd.WaitDelay = stopLimit
	tie(p.cmd)
	stderr, err := p.cmd.StderrPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err != nil {
		return nil, err
	}
	from := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w; build it first, with `make build`", name, err)
	}
	ready := make(chan error, 1)
	go p.watch(stderr, from, ready)
	select {
	case err = <-ready:
	case <-time.After(startLimit):
		err = fmt.Errorf("not ready after %v", startLimit)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// watch reads what the process prints until it ends.
func (p *process) watch(stderr io.Reader, from time.Time, ready chan<- error) {
	defer close(p.exited)
	lines, last := bufio.NewScanner(stderr), ""
	for lines.Scan() {
		last = lines.Text()
		if strings.Contains(last, `"msg":"ready"`) {
			p.took = time.Since(from)
			ready <- p.readAddresses(lines.Bytes())
			break
		}
	}
	_, _ = io.Copy(io.Discard, stderr)
	err := p.cmd.Wait()
	select {
	case ready <- fmt.Errorf("ended before it was ready: %w: %s", errors.Join(err, io.ErrUnexpectedEOF), last):
	default:
	}
}

func (p *process) readAddresses(line []byte) error {
	var ready map[string]any
	err := json.Unmarshal(line, &ready)
	address := func(service string) string {
		url, _ := ready[services.Named(service).Key].(string)
		return addressIn(url)
	}
	p.console, p.metadata, p.deviceREST = address(services.Console), address(services.Metadata), address(services.DeviceREST)
	p.notes, p.data = address(services.Notifications), address(services.Data)
	p.nats, _ = ready["nats"].(string)
	p.mqtt, _ = ready["mqtt"].(string)
	return err
}

// addressIn is the host and port of a URL without a path.
func addressIn(url string) string {
	_, address, _ := strings.Cut(url, "://")
	return address
}

// stop ends the process clean, or, after a while, at once.
func (p *process) stop() {
	p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
		p.kill()
	}
}

// kill ends the process as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}
