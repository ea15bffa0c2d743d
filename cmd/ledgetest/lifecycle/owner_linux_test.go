package lifecycle

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// owner is the user and the group of the data folders of these tests.
const owner = 65534

// giveAway makes all that is in a folder the owner's, and lets the owner get there.
func giveAway(t *testing.T, dir string) {
	t.Helper()
	ledgetest.MustDo(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, owner, owner)
	}))
	for above := filepath.Dir(dir); above != os.TempDir(); above = filepath.Dir(above) {
		ledgetest.MustDo(t, os.Chmod(above, 0o755))
	}
}

// checkOwner holds that all that is in a folder is the owner's.
func checkOwner(t *testing.T, dir, after string) {
	t.Helper()
	seen := 0
	ledgetest.MustDo(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			if of := info.Sys().(*syscall.Stat_t); of.Uid != owner || of.Gid != owner {
				t.Errorf("after %s, %s belongs to %d:%d", after, path, of.Uid, of.Gid)
			}
		}
		seen++
		return err
	}))
	if seen < 10 {
		t.Errorf("after %s, %s has %d files", after, dir, seen)
	}
}

// listLeaves returns the subcommands that have no others below them, such as "user add".
func listLeaves(t *testing.T) []string {
	t.Helper()
	all := ledgetest.Subcommands(t)
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		below := func(other string) bool { return strings.HasPrefix(other, name+" ") }
		return name != "config" && slices.ContainsFunc(all, below)
	})
}

// command is a command line with its exit code.
type command struct {
	name string
	args []string // behind the name
	code int
}

// Root keeps the owner of a data folder, with each subcommand there is. The key of the secret store is in a folder that root alone reads.
func TestRootKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the commands run as root: run the test as root")
	}
	key, err := age.GenerateX25519Identity()
	ledgetest.MustDo(t, err)
	credentials := t.TempDir()
	ledgetest.MustDo(t, os.Chmod(credentials, 0o700))
	ledgetest.MustDo(t, os.WriteFile(filepath.Join(credentials, "ledge-secret-key"), []byte(key.String()+"\n"), 0o400))
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	dir, new := filepath.Join(t.TempDir(), "data"), t.TempDir()
	p := ledgetest.Start(t, dir, "--secure", "--loopback", "admin")
	p.Stop()
	giveAway(t, dir)
	password := ledgetest.MustWriteFile(t, "password", "a-long-enough-password")
	backup, empty := filepath.Join(new, "backup.tar"), filepath.Join(new, "empty")
	ledgetest.MustDo(t, os.Mkdir(empty, 0o700))
	ledgetest.MustDo(t, os.Chown(empty, owner, owner))
	commands := []command{
		{"user add", []string{"anna", "--password-file", password}, exit.OK},
		{"user role", []string{"anna", "--role", "operator"}, exit.OK},
		{"user passwd", []string{"anna", "--password-file", password}, exit.OK},
		{"user list", nil, exit.OK},
		{"user remove", []string{"anna"}, exit.OK},
		{"token create", []string{"pos-1"}, exit.OK},
		{"token list", nil, exit.OK},
		{"token rotate", []string{"pos-1"}, exit.OK},
		{"token revoke", []string{"pos-1"}, exit.OK},
		{"rebuild", nil, exit.OK},
		{"secrets rekey", []string{filepath.Join(credentials, "ledge-secret-key")}, exit.OK},
		{"verify", nil, exit.OK},
		{"log", nil, exit.OK},
		{"history", []string{"device", "sample-image"}, exit.OK},
		{"diff", []string{"--from", "1"}, exit.OK},
		{"replay", nil, exit.Usage}, // it needs a running server
		{"archive", nil, exit.OK},
		{"ca", nil, exit.OK},
		{"curve", nil, exit.OK},
		{"checkpoint", nil, exit.OK},
		{"prove", []string{"1"}, exit.OK},
		{"export", nil, exit.OK},
		{"key", nil, exit.OK},
		{"why", []string{"watch"}, exit.Usage},
		{"health", nil, exit.Failure},
		{"config", nil, exit.OK},
		{"config check", nil, exit.OK},
		{"backup", []string{backup}, exit.OK},
		{"salvage", []string{filepath.Join(new, "salvaged")}, exit.OK},
		{"restore", []string{backup, empty}, exit.OK},
		{"save", []string{new}, exit.Usage}, // this and the following need a running server
		{"apply", []string{new}, exit.Usage},
		{"reading list", nil, exit.Usage},
	}
	for _, kind := range []string{"device", "profile", "service", "watcher", "subscription"} {
		commands = append(commands, command{kind + " list", nil, exit.Usage})
		for _, verb := range []string{"get", "add", "edit", "remove", "lock", "unlock"} {
			if kind != "profile" || !strings.HasSuffix(verb, "lock") {
				commands = append(commands, command{kind + " " + verb, []string{"x"}, exit.Usage})
			}
		}
	}
	for _, one := range commands {
		args := append(strings.Fields(one.name), one.args...)
		if one.name != "restore" {
			args = append(args, "--data-dir", dir)
		}
		if _, errs, code := ledgetest.Run(t, args...); code != one.code {
			t.Errorf("%s: exit code %d, %s", one.name, code, errs)
		}
		checkOwner(t, dir, one.name)
	}
	checkOwner(t, filepath.Join(new, "salvaged"), "salvage")
	checkOwner(t, empty, "restore")
	p = ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	p.Stop()
	checkOwner(t, dir, "serve")
	for _, name := range listLeaves(t) {
		known := name == "serve" || name == "version" || strings.HasPrefix(name, "completion ")
		for _, one := range commands {
			known = known || one.name == name
		}
		if !known {
			t.Errorf("ledge %s is not tried here", name)
		}
	}
	if !slices.Contains(listLeaves(t), "user add") {
		t.Error("the subcommands are not found")
	}
}

// The owner of an empty folder restores into it, without the right to write to the folder above, and the service starts there. A link in
// the folder leads root to nothing that the owner could not change.
func TestOwnerRestores(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the commands run as another user, which only root can become: run the test as root")
	}
	dir := filepath.Join(t.TempDir(), "data")
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	p.Stop()
	_, errs, code := ledgetest.Run(t, "backup", "--data-dir", dir, filepath.Join(filepath.Dir(dir), "backup.tar"))
	if code != exit.OK {
		t.Fatal(errs)
	}
	own := filepath.Join(t.TempDir(), "own")
	program := filepath.Join(filepath.Dir(own), "ledge") // which another user may run
	ledgetest.MustDo(t, os.WriteFile(program, []byte(ledgetest.MustRead(t, ledgetest.Binary)), 0o755))
	backup := filepath.Join(filepath.Dir(own), "backup.tar")
	ledgetest.MustDo(t, os.Rename(filepath.Join(filepath.Dir(dir), "backup.tar"), backup))
	ledgetest.MustDo(t, os.Chown(backup, owner, owner))
	ledgetest.MustDo(t, os.Mkdir(own, 0o700))
	giveAway(t, own)
	closed := filepath.Join(filepath.Dir(own), "closed") // root's alone
	ledgetest.MustDo(t, os.Mkdir(closed, 0o700))
	as := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner, Gid: owner}}
		return cmd
	}
	if out, err := as("restore", backup, own).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkOwner(t, own, "restore")
	out, err := as("backup", "--data-dir", own, filepath.Join(closed, "backup.tar")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "permission denied") {
		t.Errorf("a backup to a folder that cannot be read: %v, %s", err, out)
	}
	serve := ledgetest.ServeCommand(nil, own)
	cmd := as(serve.Args[1:]...)
	q := ledgetest.LaunchCommand(t, cmd, own)
	ledgetest.MustDo(t, q.WaitReady())
	if got := q.Call("GET", q.Metadata+"/api/v2/device/name/cam-1", "", ""); got.Status != 200 {
		t.Errorf("the restored device: %d", got.Status)
	}
	q.Stop()

	hidden := filepath.Join(t.TempDir(), "nats") // root's alone
	ledgetest.MustDo(t, os.Rename(filepath.Join(own, "nats"), hidden))
	ledgetest.MustDo(t, os.Symlink(hidden, filepath.Join(own, "nats")))
	ledgetest.MustDo(t, os.Lchown(filepath.Join(own, "nats"), owner, owner))
	ledgetest.MustDo(t, os.Chmod(filepath.Dir(hidden), 0o700))
	_, errs, code = ledgetest.Run(t, "user", "list", "--data-dir", own)
	if code != exit.Folder || !strings.Contains(errs, "permission denied") {
		t.Errorf("through a link to a folder of root: exit code %d, %s", code, errs)
	}
}

// No command takes a folder that a restore has not completed, and a restore that is killed can be made again there.
func TestUnfinishedRestore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := ledgetest.Start(t, dir)
	p.Stop()
	ledgetest.MustDo(t, os.WriteFile(filepath.Join(dir, "restoring"), nil, 0o600))
	for _, args := range [][]string{{"verify"}, {"user", "list"}, {"rebuild"}, {"serve"}} {
		_, errs, code := ledgetest.Run(t, append(args, "--data-dir", dir)...)
		if code != exit.Folder || !strings.Contains(errs, "is not complete") {
			t.Errorf("%v: exit code %d, %s", args, code, errs)
		}
	}
	_, errs, code := ledgetest.Run(t, "restore", ledgetest.Binary, dir)
	if code != exit.Folder || !strings.Contains(errs, "remove the files in the folder") {
		t.Errorf("restore: exit code %d, %s", code, errs)
	}
}

// A start that fails leaves no folder that it has made.
func TestFailedStartLeavesNoFolder(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	port := p.URLs["metadata"][strings.LastIndex(p.URLs["metadata"], ":")+1:]
	above := filepath.Join(t.TempDir(), "new")
	for _, flag := range [][]string{{"--metadata-port", port}, {"--metadata-port", port, "--secure"}, {"--nats-port", "x"}} {
		cmd := ledgetest.ServeCommand(nil, filepath.Join(above, "data"), flag...)
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%v: started: %s", flag, out)
		}
		if _, err := os.Lstat(above); err == nil {
			list, _ := os.ReadDir(filepath.Join(above, "data"))
			t.Errorf("%v: the folder is there: %v", flag, list)
		}
	}
}
