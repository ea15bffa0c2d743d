package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// A failed start prints one line, returns its exit code, and leaves nothing half started.
func TestRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ports := services.FreePorts("0")
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"port in use", []string{"--metadata-port", port}, exit.Port, []string{"settings host and metadata-port: ", port, "in use"}},
		{"console port in use", []string{"--console-port", port}, exit.Port, []string{"console-port", port, "in use"}},
		{"NATS port in use", []string{"--nats-port", port}, exit.Port, []string{"nats-port", port, "in use"}},
		{"no such address", []string{"--notifications-port", "192.0.2.1:0", "--allow-insecure"}, exit.Port, []string{"setting notifications-port: listen", "192.0.2.1"}},
		{"no such name", []string{"--host", "no..name"}, exit.Port, []string{"setting host: ", `"no..name"`, "use an IP address"}},
		{"folder is a file", []string{"--data-dir", file}, exit.Folder, []string{"data-dir", file}},
		{"unknown flag", []string{"--no-such"}, exit.Usage, []string{"no-such", "--help"}},
		{"bad size", []string{"--disk-reserve", "lots"}, exit.Usage, []string{"disk-reserve", "lots", "64KiB"}},
		{"removed", []string{"--sync", "group"}, exit.Usage, []string{"--sync; it was removed", "Leave it out"}},
		{"replaced", []string{"--loopback-role", "viewer"}, exit.Usage, []string{"--loopback-role; it was removed: use loopback with the role"}},
		{"fixed", []string{"--zeromq-peers", "9"}, exit.Usage, []string{"--zeromq-peers; it was removed: its value is fixed", "docs/reference/limits.md"}},
		{"argument", []string{"now"}, exit.Usage, []string{"now"}},
		{"no CA", []string{"--secure", "--tls-client-ca", file}, exit.Usage, []string{"tls-client-ca", file, "has no certificate", "PEM"}},
		{"no file of units", []string{"--units-file", "/no/such/uom.toml"}, exit.Usage, []string{"units-file", "/no/such/uom.toml", "no such file"}},
		{"bad file of units", []string{"--units-file", ledgetest.MustWriteFile(t, "uom.toml", "Units = 'C'")}, exit.Usage, []string{"units-file", "uom.toml", "string at Units"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			args := append(append([]string{"serve", "--data-dir", dir}, ports...), tt.args...)
			_, stderr, code := ledgetest.Run(t, args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			last := lines[len(lines)-1]
			for _, part := range tt.says {
				if !strings.Contains(last, part) {
					t.Errorf("%q does not say %q", last, part)
				}
			}
			if state, _ := filepath.Glob(filepath.Join(dir, "*.db")); len(state) > 0 {
				t.Errorf("left behind: %v", state)
			}
		})
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	_, stderr, code := ledgetest.Run(t, append([]string{"serve", "--data-dir", p.Dir}, services.FreePorts("0")...)...)
	if code != exit.InUse || !strings.Contains(stderr, fmt.Sprint("process ", p.Cmd.Process.Pid)) {
		t.Errorf("exit code %d, %q; want %d with pid %d", code, stderr, exit.InUse, p.Cmd.Process.Pid)
	}
	if _, stderr, code = ledgetest.Run(t, "rebuild", "--data-dir", p.Dir); code != exit.InUse {
		t.Errorf("rebuild: exit code %d, %q; want %d", code, stderr, exit.InUse)
	}
}

// Default, file, environment, flag: each above the one before, and `ledge config` says which is in force.
func TestConfigurationOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledge.yaml")
	text := "host: 127.0.0.2\nmetadata:\n  port: 1001\nnotifications-port: 1002\nmax: {result-count: 20}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LEDGE_METADATA_PORT", "1003")
	t.Setenv("LEDGE_NOTIFICATIONS_PORT", "1004")
	out, stderr, code := ledgetest.Run(t, "config", "--config", file, "--notifications-port", "1005")
	if code != exit.OK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{
		"LEDGE_DEVICE_REST_PORT\n# device-rest-port: \"59986\"", "; set by " + file + "\nhost: \"127.0.0.2\"",
		"; set by LEDGE_METADATA_PORT\nmetadata-port: \"1003\"", "; set by --notifications-port\nnotifications-port: \"1005\"",
		"\nmax-result-count: \"20\"",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("ledge config does not show %q:\n%s", want, out)
		}
	}
	again := filepath.Join(t.TempDir(), "again.yaml")
	if err := os.WriteFile(again, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := ledgetest.Run(t, "config", "--config", again); code != exit.OK {
		t.Errorf("what it prints is not taken back: %s", stderr)
	}
}

// Every setting has a line of documentation, and every exit code is in the documents.
func TestDocumented(t *testing.T) {
	out, _, _ := ledgetest.Run(t, "config")
	settings := regexp.MustCompile(`(?m)^# (.*)\n# default .*; LEDGE_`).FindAllStringSubmatch(out, -1)
	if n := len(settings); n == 0 || n > 50 {
		t.Errorf("there are %d settings, and at most 50 are allowed; a setting needs an operator who would change it", n)
	}
	for _, one := range settings {
		if n := len(strings.Fields(one[1])); n < 4 || n > 25 {
			t.Errorf("%d words, want 4 to 25: %s", n, one[1])
		}
	}
	help, _, _ := ledgetest.Run(t, "--help")
	operating := ledgetest.MustRead(t, "../../../docs/reference/operating.md")
	for code := exit.OK; code <= exit.Damaged; code++ {
		if !strings.Contains(help, fmt.Sprint(code, " ")) || !strings.Contains(operating, fmt.Sprint("| ", code, " |")) {
			t.Errorf("exit code %d is not in --help or docs/reference/operating.md", code)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, _, code := ledgetest.Run(t, "completion", shell); code != exit.OK || !strings.Contains(out, "ledge") {
			t.Errorf("completion %s: exit code %d", shell, code)
		}
	}
	profile := filepath.Join(t.TempDir(), "cpu")
	if out, _, code := ledgetest.Run(t, "version", "--cpu-profile", profile); code != exit.OK || !strings.Contains(out, "nats-server") {
		t.Errorf("version: %d %s", code, out)
	}
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("CPU profile: %v, %v", info, err)
	}
	if _, stderr, code := ledgetest.Run(t, "version", "--cpu-profile", t.TempDir()); code != exit.Usage || !strings.Contains(stderr, "cpu-profile") {
		t.Errorf("CPU profile to a folder: %d %s", code, stderr)
	}
}

// log and verify work beside a running server and without one; rebuild gives the same state as before.
func TestLogVerifyRebuild(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	beside, stderr, code := ledgetest.Run(t, "log", "--data-dir", dir)
	if code != exit.OK || !strings.Contains(beside, "device cam-1 added  by anonymous@127.0.0.1 from 127.0.0.1:") {
		t.Fatalf("log beside the server: %d %s\n%s", code, stderr, beside)
	}
	if out, _, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != exit.OK || !strings.Contains(out, "state: not compared") {
		t.Errorf("verify beside the server: %d %s", code, out)
	}
	before := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all", "", "").Body
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("stop: %d\n%s", code, p.Log)
	}
	if out, _, _ := ledgetest.Run(t, "log", "--data-dir", dir); !strings.HasPrefix(out, beside) {
		t.Errorf("log without a server: got\n%s\nwant it to begin with\n%s", out, beside)
	}
	if _, stderr, code := ledgetest.Run(t, "log", "-f", "--data-dir", dir); code != exit.Usage || !strings.Contains(stderr, "ledge serve") {
		t.Errorf("log -f without a server: %d %s", code, stderr)
	}
	if out, stderr, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != exit.OK || strings.Count(out, "folded to event") != 3 {
		t.Errorf("rebuild: %d %s %s", code, out, stderr)
	}
	if out, stderr, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != exit.OK || strings.Count(out, "equals the fold") != 3 {
		t.Errorf("verify: %d %s %s", code, out, stderr)
	}
	p = ledgetest.Start(t, dir)
	if after := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all", "", "").Body; after != before {
		t.Errorf("after the rebuild: %s\nwant %s", after, before)
	}
}

func TestLogAsJSON(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("cam-1")
	out, _, _ := ledgetest.Run(t, "log", "--json", "--from", "10", "--data-dir", p.Dir)
	first, _, _ := strings.Cut(out, "\n")
	for _, want := range []string{`"subject":"ledge.event.device.cam-1.added"`, `"seq":10`, `"type":"device.added/1"`, `"actor":"anonymous@127.0.0.1"`, `"profileName":"sample-image"`} {
		if !strings.Contains(first, want) {
			t.Errorf("%s does not have %s", first, want)
		}
	}
}

// TestRebuildNeedsAFolder holds that only serve makes a data folder.
func TestRebuildNeedsAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, stderr, code := ledgetest.Run(t, "rebuild", "--data-dir", dir)
	if want := "no data folder " + dir; code != exit.Folder || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %q; want %d and one line with %q", code, stderr, exit.Folder, want)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}
