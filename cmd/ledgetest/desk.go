package ledgetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
)

// Ledge runs a command on the data folder.
func (s *Secured) Ledge(t *testing.T, args ...string) string {
	t.Helper()
	out, stderr, code := Run(t, append(args, "--data-dir", s.Dir)...)
	if code != exit.OK {
		t.Fatalf("ledge %v: %d %s", args, code, stderr)
	}
	return out
}

// Subcommands returns the names of all subcommands, such as "user" and "user add".
func Subcommands(t *testing.T) (list []string) {
	t.Helper()
	dir := t.TempDir()
	if _, errs, code := Run(t, "man", dir); code != exit.OK {
		t.Fatal(errs)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "ledge-*.1"))
	MustDo(t, err)
	for _, page := range pages {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(page), "ledge-"), ".1")
		list = append(list, strings.ReplaceAll(name, "-", " "))
	}
	return list
}

// NeedCurl returns the path of curl. It skips the test if curl is not installed.
func NeedCurl(t *testing.T) string {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed: Debian's package curl")
	}
	return curl
}

// MustReadDocs returns pages of docs as one text.
func MustReadDocs(t *testing.T, pages ...string) string {
	t.Helper()
	var text strings.Builder
	for _, page := range pages {
		text.WriteString(MustRead(t, Repo("docs", page)))
	}
	return text.String()
}

// Desk is a folder in which a test types the commands of a document. /etc/ledge and /var/lib/ledge are folders in it, and the
// command ledge is the binary under test.
type Desk struct {
	t       *testing.T
	Dir     string
	Env     []string
	Replace *strings.Replacer
}

// NewDesk returns a desk in a temporary folder.
func NewDesk(t *testing.T) *Desk {
	t.Helper()
	d := &Desk{t: t, Dir: t.TempDir()}
	tools := filepath.Join(d.Dir, "tools")
	for _, folder := range []string{tools, d.Path("etc"), d.Path("var")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program, err := filepath.Abs(Binary)
	if err == nil {
		err = os.Symlink(program, filepath.Join(tools, "ledge"))
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "LEDGE_DISK_RESERVE=1MiB")
	d.Env = append(d.Env, "LEDGE_NATS_PORT=0")
	for _, one := range services.All {
		d.Env = append(d.Env, "LEDGE_"+strings.ToUpper(strings.ReplaceAll(one.Setting, "-", "_"))+"_PORT=0")
	}
	d.Replace = strings.NewReplacer("/etc/ledge", d.Path("etc"), "/var/lib/ledge", d.Path("var"), "curl ", "curl -sS --fail --noproxy '*' ")
	return d
}

// Path returns the path of a file on the desk.
func (d *Desk) Path(name string) string { return filepath.Join(d.Dir, name) }

// Command returns the command that runs a block of a document in bash, in the folder of the repository.
func (d *Desk) Command(line string) *exec.Cmd {
	d.t.Helper()
	needCommands(d.t, line)
	cmd := exec.CommandContext(d.t.Context(), "bash", "-euo", "pipefail", "-c", d.Replace.Replace(line))
	cmd.Dir, cmd.Env = d.Dir, d.Env
	return cmd
}

// Run runs a line and returns its standard output.
func (d *Desk) Run(line, stdin string) string {
	d.t.Helper()
	cmd := d.Command(line)
	cmd.Stdin = strings.NewReader(stdin)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%s\n%v\n%s%s", line, err, out, &errs)
	}
	return string(out)
}

// Serve runs a line that serves the folder of a name until it is ready.
func (d *Desk) Serve(line, dir string) *Node {
	d.t.Helper()
	p := LaunchCommand(d.t, d.Command("exec "+line), d.Path(dir))
	if err := p.WaitReady(); err != nil {
		d.t.Fatalf("%s: %v\n%s", line, err, p.Log)
	}
	return p
}

// Lines returns the commands of a block.
func Lines(block string) []string { return strings.Split(strings.TrimSpace(block), "\n") }

// ManageUsers types the commands of users and tokens, each with a password on standard input.
func (d *Desk) ManageUsers(commands []string) {
	d.t.Helper()
	wants := map[string]string{"ledge user list": "anna", "ledge token create": "ledge_pos-7_", "ledge token list": `"pos-7"`}
	for _, line := range commands {
		out := d.Run(line, "correct horse battery\n")
		for command, want := range wants {
			if strings.HasPrefix(line, command) && !strings.Contains(out, want) {
				d.t.Errorf("%s: %s, want %s", line, out, want)
			}
		}
	}
	log := d.Run("ledge log --data-dir data", "")
	for _, want := range []string{"user anna added", "user anna removed", "token pos-7 added", "token pos-7 removed"} {
		if !strings.Contains(log, want) {
			d.t.Errorf("ledge log does not show %q:\n%s", want, log)
		}
	}
}

// MustWrite writes a file.
func MustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
