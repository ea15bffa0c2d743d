package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// scratch makes a folder for one fault and removes it, so that thousands of them take no room.
func scratch(t *testing.T, use func(dir string) outcome) outcome {
	dir, err := os.MkdirTemp(t.TempDir(), "fault-*")
	if err != nil {
		return outcomef(broken, "%v", err)
	}
	defer os.RemoveAll(dir)
	return use(dir)
}

// filesOnly leaves out what cannot be copied: the socket of a server that was killed.
type filesOnly struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (f filesOnly) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !e.IsDir() && !e.Type().IsRegular() }), err
}

// verifyCopy runs `ledge verify` on a copy of a folder. It returns what verify says of damage, "" where it is content,
// and what it changed in the copy.
func verifyCopy(dir string) (damage, touched string, err error) {
	copied := dir + "-verified"
	defer os.RemoveAll(copied)
	if err := os.MkdirAll(copied, 0o750); err != nil {
		return "", "", err
	}
	if err := os.CopyFS(copied, filesOnly{os.DirFS(dir)}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	if err := os.Chmod(filepath.Join(copied, "secrets.json"), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) { // CopyFS widens modes
		return "", "", err
	}
	before, err := takeSnapshot(copied)
	if err != nil {
		return "", "", err
	}
	_, errs, code, err := ledgetest.TryRun(context.Background(), "verify", "--data-dir", copied)
	if err != nil {
		return "", "", err
	}
	after, err := takeSnapshot(copied)
	if err != nil {
		return "", "", err
	}
	switch touched = before.changed(after); code {
	case exit.OK, exit.Folder: // Folder: the crash came before there was a folder
		return "", touched, nil
	case exit.Damaged:
		return lastLine(errs), touched, nil
	}
	return "", touched, fmt.Errorf("ledge verify: exit code %d: %s", code, lastLine(errs))
}

// lastLine is the last line of what a program printed that is not a log record: the error.
func lastLine(printed string) string {
	last := ""
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(line, "{") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

// serveOn starts the program; named is the line with which it refused the folder, with exit code 6.
func serveOn(t *testing.T, dir string, flags ...string) (p *ledgetest.Node, named string, o outcome) {
	p = ledgetest.Launch(t, dir, flags...)
	err := p.WaitReady()
	if err == nil {
		return p, "", outcome{}
	}
	p.Kill()
	code := p.Cmd.ProcessState.ExitCode()
	if code == exit.State { // a service manager starts it again
		p = ledgetest.Launch(t, dir, flags...)
		if err = p.WaitReady(); err == nil {
			return p, "", outcome{}
		}
		p.Kill()
		code = p.Cmd.ProcessState.ExitCode()
	}
	if code != exit.Damaged {
		return nil, "", outcomef(broken, "ledge serve: %v: %s", err, lastLine(p.Log.String()))
	}
	return nil, lastLine(p.Log.String()), outcome{}
}

// judge starts on what a crash left and compares it with what was acknowledged before it.
func judge(l *ledgetest.Workload, t *testing.T, dir string, since ledgetest.Known, readings map[string]bool, flags ...string) outcome {
	damage, touched, err := verifyCopy(dir)
	if err != nil {
		return outcomef(broken, "%v", err)
	}
	o := judgeStart(l, t, dir, damage, since, readings, flags...)
	o.touched = touched
	return o
}

func judgeStart(l *ledgetest.Workload, t *testing.T, dir, damage string, since ledgetest.Known, readings map[string]bool, flags ...string) outcome {
	p, named, o := serveOn(t, dir, flags...)
	switch {
	case o.verdict != recovered:
		return o
	case named != "":
		return outcomef(found, "%s", named)
	}
	if _, err := l.Find(p, since); err != nil {
		p.Kill()
		return outcomef(lost, "%v", err)
	}
	if err := ledgetest.CompareBus(p); err != nil {
		p.Kill()
		return outcomef(broken, "ledge serve recovers, but %v", err)
	}
	if code := p.Stop(); code != exit.OK {
		return outcomef(broken, "ledge serve: exit code %d at the stop: %s", code, lastLine(p.Log.String()))
	}
	all, err := ledgetest.TryFacts(dir)
	if err != nil {
		return outcomef(broken, "ledge serve recovers, but %v", err)
	}
	if err := lostReading(dir, all, readings); err != nil {
		return outcomef(lost, "%v", err)
	}
	if damage != "" {
		return outcomef(broken, "ledge serve recovers, but ledge verify says: %s", damage)
	}
	return outcome{}
}

// lostReading is CheckReadings with an error.
func lostReading(dir string, all []ledgetest.Fact, acked map[string]bool) error {
	posted := map[string]bool{}
	for _, f := range all {
		if !strings.HasPrefix(f.Type, "reading.") {
			continue
		}
		key := string(f.Data)
		if digest := f.Ext["digest"]; digest != "" {
			key = digest
			if err := ledgetest.PayloadIsWhole(dir, digest); err != nil {
				return err
			}
		}
		posted[key] = true
	}
	for key := range acked {
		if !posted[key] {
			return fmt.Errorf("reading %s was acknowledged and is not on the log", key)
		}
	}
	return nil
}

// dataOf is the data folder within what is mounted: the program makes it, which is part of what is tested.
func dataOf(mounted string) string { return filepath.Join(mounted, "data") }
