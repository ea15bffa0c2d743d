package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledge/bridge/tlstest"
)

// securityPages are the pages of docs about secure mode, in the order in which a newcomer reads them.
var securityPages = []string{"reference/security.md", "reference/secrets.md", "reference/users.md", "reference/zeromq.md"}

// mustReadDocs returns pages of docs as one text.
func mustReadDocs(t *testing.T, pages ...string) string {
	t.Helper()
	var text strings.Builder
	for _, page := range pages {
		text.WriteString(mustRead(t, "../../docs/"+page))
	}
	return text.String()
}

// desk is a folder in which a test types the commands of a document. /etc/ledge and /var/lib/ledge are folders in it, and the
// command ledge is the binary under test.
type desk struct {
	t       *testing.T
	dir     string
	env     []string
	replace *strings.Replacer
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	tools := filepath.Join(d.dir, "tools")
	for _, folder := range []string{tools, d.path("etc"), d.path("var")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program, err := filepath.Abs(binary)
	if err == nil {
		err = os.Symlink(program, filepath.Join(tools, "ledge"))
	}
	if err != nil {
		t.Fatal(err)
	}
	d.env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "LEDGE_LOG_FORMAT=json", "LEDGE_DISK_RESERVE=1MiB")
	for _, service := range []string{"METADATA", "DATA", "DEVICE_REST", "NOTIFICATIONS", "CONSOLE", "TAP"} {
		d.env = append(d.env, "LEDGE_"+service+"_PORT=0")
	}
	d.replace = strings.NewReplacer("/etc/ledge", d.path("etc"), "/var/lib/ledge", d.path("var"), "curl ", "curl -sS --fail --noproxy '*' ")
	return d
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) command(line string) *exec.Cmd {
	d.t.Helper()
	needCommands(d.t, line)
	cmd := exec.CommandContext(d.t.Context(), "bash", "-euo", "pipefail", "-c", d.replace.Replace(line))
	cmd.Dir, cmd.Env = d.dir, d.env
	return cmd
}

// run runs a line and returns its standard output.
func (d *desk) run(line, stdin string) string {
	d.t.Helper()
	cmd := d.command(line)
	cmd.Stdin = strings.NewReader(stdin)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%s\n%v\n%s%s", line, err, out, &errs)
	}
	return string(out)
}

// serve runs a line that serves the folder of a name until it is ready.
func (d *desk) serve(line, dir string) *process {
	d.t.Helper()
	p := launchCommand(d.t, d.command("exec "+line), d.path(dir))
	if err := p.waitReady(); err != nil {
		d.t.Fatalf("%s: %v\n%s", line, err, p.log)
	}
	return p
}

// lines returns the commands of a block.
func lines(block string) []string { return strings.Split(strings.TrimSpace(block), "\n") }

// securityBlocks returns the shell blocks of the pages about secure mode.
func securityBlocks(t *testing.T) []string {
	t.Helper()
	blocks := shellBlocks(mustReadDocs(t, securityPages...))
	if len(blocks) != 6 {
		t.Fatalf("%v have %d shell blocks, want 6: each needs a test", securityPages, len(blocks))
	}
	return blocks
}

// TestSecurityDocFirstStart types the commands of the modes, of users and tokens and of CURVE, on an empty folder.
func TestSecurityDocFirstStart(t *testing.T) {
	t.Parallel()
	d, blocks := newDesk(t), securityBlocks(t)
	modes, users := lines(blocks[0]), lines(blocks[4])
	p := d.serve(modes[0], "data")
	d.run(modes[1], "")
	ping := strings.ReplaceAll(modes[2], ":59881", strings.TrimPrefix(at(t, p.metadata, "", "x"), "://x"))
	if out := d.run(ping, ""); !strings.Contains(out, "core-metadata") {
		t.Errorf("%s: %s", modes[2], out)
	}
	for _, running := range []bool{true, false} {
		if !running {
			p.stop()
		}
		d.manageUsers(users)
	}
	p = d.serve(modes[0], "data")
	if key := strings.TrimSpace(d.run(blocks[5], "")); len(key) != 40 {
		t.Errorf("%s prints %q, want a key of 40 characters", blocks[5], key)
	}
	s := &secured{process: p}
	s.trust(t)
	if _, a := s.login("admin", "correct horse battery"); a.status != http.StatusOK {
		t.Errorf("login with the new password: %d %s", a.status, a.body)
	}
}

// manageUsers types the commands of users and tokens, each with a password on standard input.
func (d *desk) manageUsers(commands []string) {
	d.t.Helper()
	wants := map[string]string{"ledge user list": "anna", "ledge token create": "ledge_pos-7_", "ledge token list": `"pos-7"`}
	for _, line := range commands {
		out := d.run(line, "correct horse battery\n")
		for command, want := range wants {
			if strings.HasPrefix(line, command) && !strings.Contains(out, want) {
				d.t.Errorf("%s: %s, want %s", line, out, want)
			}
		}
	}
	log := d.run("ledge log --data-dir data", "")
	for _, want := range []string{"user anna added", "user anna removed", "token pos-7 added", "token pos-7 removed"} {
		if !strings.Contains(log, want) {
			d.t.Errorf("ledge log does not show %q:\n%s", want, log)
		}
	}
}

// TestSecurityDocCertificate starts with certificate files.
func TestSecurityDocCertificate(t *testing.T) {
	t.Parallel()
	d, blocks := newDesk(t), securityBlocks(t)
	authority := tlstest.NewAuthority(t, "plant")
	certificate, key := authority.Sign(t, "edge")
	mustWrite(t, d.path("etc/fullchain.pem"), certificate)
	mustWrite(t, d.path("etc/privkey.pem"), key)
	p := d.serve(strings.TrimSpace(blocks[1])+" --data-dir data", "data")
	if a, err := overTLS(t, authority.PEM, client13)(at(t, p.metadata, "https", "127.0.0.1") + "/api/v2/ping"); err != nil || a.status != http.StatusOK {
		t.Errorf("ping: %d %v", a.status, err)
	}
}

// TestSecurityDocSecretKey encrypts the secret store, reads it with age, and replaces its key.
func TestSecurityDocSecretKey(t *testing.T) {
	t.Parallel()
	d, blocks := newDesk(t), securityBlocks(t)
	version := regexp.MustCompile(`filippo\.io/age (v\S+)`).FindStringSubmatch(mustRead(t, "../../go.mod"))[1]
	install := exec.CommandContext(t.Context(), "go", "install", "filippo.io/age/cmd/...@"+version)
	install.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+d.path("tools"))
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("age's commands are built from their Go module, which cannot be downloaded: %s", out)
	}
	first, rekey := lines(blocks[2]), strings.TrimSpace(blocks[3])
	d.run(first[0], "")
	d.run(first[1], "")
	d.serve("env "+first[2], "var").stop()
	show := regexp.MustCompile("`(tail -n [^`]*)`").FindStringSubmatch(mustReadDocs(t, "reference/secrets.md"))[1]
	show = "cd /var/lib/ledge && " + show
	want := d.run(show, "")
	if !strings.Contains(want, "argon2id") || strings.Contains(mustRead(t, d.path("var/secrets.json")), "argon2id") {
		t.Errorf("the store in clear text: %s", want)
	}
	d.run(strings.ReplaceAll(first[0], "secret.key", "new.key"), "")
	d.run(rekey, "")
	if got := d.run(strings.ReplaceAll(show, "secret.key", "credentials/ledge-secret-key"), ""); got != want {
		t.Errorf("after rekey: %s, want %s", got, want)
	}
	d.serve("env "+first[2], "var").stop()
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
