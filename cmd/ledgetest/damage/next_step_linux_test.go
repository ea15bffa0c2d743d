package damage

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/disktest"
)

// folders are data folders in which a command cannot do its work.
type folders struct{ program, whole, running, missing, log, state, new, disk, backup, noBackup string }

// TestNextStep runs each command on a data folder that it cannot use, with the real program. It holds the exit code, and that one line says what to do
// next, without a secret.
func TestNextStep(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the commands run as another user, which only root can become: run the test as root")
	}
	f := newFolders(t)
	serve := serveAnywhere
	const (
		check   = "check --data-dir"
		stop    = "stop it first"
		owner   = "run ledge as the user that owns it"
		damaged = "`ledge restore` makes a data folder of a backup, `ledge salvage` makes one of what is whole"
		free    = "free some space on its disk"
		write   = "write `ledge restore FILE DIR`"
		start   = "start one with `ledge serve`"
	)
	new := func(name string) string { return filepath.Join(f.new, name) }
	for _, tt := range []struct {
		args   []string
		dir    string
		nobody bool // run by another user
		code   int
		says   string
	}{
		{[]string{"log"}, f.missing, false, exit.Folder, check},
		{[]string{"verify"}, f.missing, false, exit.Folder, check},
		{[]string{"backup", new("a.tar")}, f.missing, false, exit.Folder, check},
		{[]string{"salvage", new("a")}, f.missing, false, exit.Folder, check},
		{[]string{"rebuild"}, f.missing, false, exit.Folder, check},
		{[]string{"archive"}, f.missing, false, exit.Folder, check},
		{[]string{"ca"}, f.missing, false, exit.Folder, check},
		{[]string{"curve"}, f.missing, false, exit.Folder, check},
		{[]string{"secrets", "rekey", ""}, f.missing, false, exit.Folder, check},
		{[]string{"user", "list"}, f.missing, false, exit.Folder, check},
		{[]string{"token", "list"}, f.missing, false, exit.Folder, check},
		{[]string{"why", "x"}, f.missing, false, exit.Folder, check},
		{[]string{"health"}, f.missing, false, exit.Failure, check},

		{serve, f.whole, true, exit.Folder, owner},
		{[]string{"log"}, f.whole, true, exit.Folder, owner},
		{[]string{"verify"}, f.whole, true, exit.Folder, owner},
		{[]string{"backup", "/tmp/a.tar"}, f.whole, true, exit.Folder, owner},
		{[]string{"salvage", "/tmp/ledge-a"}, f.whole, true, exit.Folder, owner},
		{[]string{"rebuild"}, f.whole, true, exit.Folder, owner},
		{[]string{"archive"}, f.whole, true, exit.Folder, owner},
		{[]string{"ca"}, f.whole, true, exit.Folder, owner},
		{[]string{"curve"}, f.whole, true, exit.Folder, owner},
		{[]string{"secrets", "rekey", ""}, f.whole, true, exit.Folder, owner},
		{[]string{"user", "list"}, f.whole, true, exit.Folder, owner},
		{[]string{"health"}, f.whole, true, exit.Failure, owner},
		{[]string{"restore", f.backup, new("b")}, "", true, exit.Usage, owner},

		{serve, f.running, false, exit.InUse, stop},
		{[]string{"rebuild"}, f.running, false, exit.InUse, stop},
		{[]string{"salvage", new("c")}, f.running, false, exit.InUse, stop},
		{[]string{"secrets", "rekey", ""}, f.running, false, exit.InUse, stop},
		{[]string{"restore", f.backup, f.running}, "", false, exit.Folder, "choose a new folder"},

		{[]string{"log", "-f"}, f.whole, false, exit.Usage, start},
		{[]string{"why", "x"}, f.whole, false, exit.Usage, start},
		{[]string{"health"}, f.whole, false, exit.Failure, start},

		{serve, f.log, false, exit.Damaged, damaged},
		{[]string{"log"}, f.log, false, exit.Damaged, damaged},
		{[]string{"verify"}, f.log, false, exit.Damaged, damaged},
		{[]string{"backup", new("d.tar")}, f.log, false, exit.Damaged, damaged},
		{[]string{"rebuild"}, f.log, false, exit.Damaged, damaged},
		{[]string{"user", "list"}, f.log, false, exit.Damaged, damaged},
		{[]string{"verify"}, f.state, false, exit.Damaged, "`ledge rebuild` folds it again from the log"},

		{[]string{"backup", filepath.Join(f.disk, "e.tar")}, f.whole, false, exit.Failure, free},
		{[]string{"restore", f.backup, filepath.Join(f.disk, "e")}, "", false, exit.Failure, free},
		{[]string{"salvage", filepath.Join(f.disk, "f")}, f.whole, false, exit.Failure, free},

		{[]string{"restore", new("none.tar"), new("g")}, "", false, exit.Usage, write},
		{[]string{"restore", f.whole, new("g")}, "", false, exit.Usage, write},
		{[]string{"restore", "/dev/null", new("g")}, "", false, exit.Usage, write},
		{[]string{"restore", f.noBackup, new("g")}, "", false, exit.Damaged, "take another file that `ledge backup` has written"},
	} {
		args := tt.args
		if tt.dir != "" {
			args = append(args[:len(args):len(args)], "--data-dir", tt.dir)
		}
		line, code := errorLine(t, f.program, tt.nobody, args...)
		if code != tt.code || !strings.HasPrefix(line, "ledge: ") || !strings.Contains(line, tt.says) {
			t.Errorf("%v: exit code %d, %q; want %d and %q", args, code, line, tt.code, tt.says)
		}
		if strings.Contains(line, strings.TrimSpace(ledgetest.MustRead(t, filepath.Join(f.whole, datadir.AdminPasswordFile)))) {
			t.Errorf("%v prints the password: %s", args, line)
		}
	}
}

// errorLine runs the program and returns the last line on standard error.
func errorLine(t *testing.T, program string, nobody bool, args ...string) (line string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if nobody {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		code = exit.ExitCode()
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	return lines[len(lines)-1], code
}

func newFolders(t *testing.T) (f folders) {
	t.Helper()
	f.whole, f.missing, f.new = filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "missing"), t.TempDir()
	for dir := filepath.Dir(f.whole); dir != os.TempDir(); dir = filepath.Dir(dir) {
		ledgetest.MustDo(t, os.Chmod(dir, 0o755)) // so that another user gets as far as the data folder
	}
	f.program = filepath.Join(filepath.Dir(f.whole), "ledge") // where another user may run it
	ledgetest.MustDo(t, os.WriteFile(f.program, []byte(ledgetest.MustRead(t, ledgetest.Binary)), 0o755))
	p := ledgetest.Start(t, f.whole)
	p.AddDevice("cam-1")
	p.Stop()
	f.backup, f.noBackup = filepath.Join(f.new, "backup.tar"), ledgetest.MustWriteFile(t, "text", strings.Repeat("text", 5000))
	if _, errs, code := ledgetest.Run(t, "backup", f.backup, "--data-dir", f.whole); code != exit.OK {
		t.Fatal(errs)
	}
	f.running, f.log, f.state = ledgetest.Clone(t, f.whole), ledgetest.Clone(t, f.whole), ledgetest.Clone(t, f.whole)
	ledgetest.Start(t, f.running)
	flip("1")(t, f.log, ledgetest.TestNode{}, ledgetest.TestNode{})
	ledgetest.MustDo(t, os.Truncate(filepath.Join(f.state, datadir.StateFiles[0]), 4096))
	f.disk = disktest.New(t, 16)
	return f
}
