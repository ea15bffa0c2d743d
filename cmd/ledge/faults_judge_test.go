package main

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
	_, errs, code, err := runLedge(context.Background(), "verify", "--data-dir", copied)
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
func serveOn(t *testing.T, dir string, flags ...string) (p *process, named string, o outcome) {
	p = launch(t, dir, flags...)
	err := p.waitReady()
	if err == nil {
		return p, "", outcome{}
	}
	p.kill()
	code := p.cmd.ProcessState.ExitCode()
	if code == exit.State { // a service manager starts it again
		p = launch(t, dir, flags...)
		if err = p.waitReady(); err == nil {
			return p, "", outcome{}
		}
		p.kill()
		code = p.cmd.ProcessState.ExitCode()
	}
	if code != exit.Damaged {
		return nil, "", outcomef(broken, "ledge serve: %v: %s", err, lastLine(p.log.String()))
	}
	return nil, lastLine(p.log.String()), outcome{}
}

// judge starts on what a crash left and compares it with what was acknowledged before it.
func (l *workload) judge(t *testing.T, dir string, since known, readings map[string]bool, flags ...string) outcome {
	damage, touched, err := verifyCopy(dir)
	if err != nil {
		return outcomef(broken, "%v", err)
	}
	o := l.judgeStart(t, dir, damage, since, readings, flags...)
	o.touched = touched
	return o
}

func (l *workload) judgeStart(t *testing.T, dir, damage string, since known, readings map[string]bool, flags ...string) outcome {
	p, named, o := serveOn(t, dir, flags...)
	switch {
	case o.verdict != recovered:
		return o
	case named != "":
		return outcomef(found, "%s", named)
	}
	if _, err := l.find(p, since); err != nil {
		p.kill()
		return outcomef(lost, "%v", err)
	}
	if code := p.stop(); code != exit.OK {
		return outcomef(broken, "ledge serve: exit code %d at the stop: %s", code, lastLine(p.log.String()))
	}
	all, err := tryFacts(dir)
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

// lostReading is checkReadings with an error.
func lostReading(dir string, all []fact, acked map[string]bool) error {
	posted := map[string]bool{}
	for _, f := range all {
		if !strings.HasPrefix(f.Type, "reading.") {
			continue
		}
		key := string(f.Data)
		if digest := f.Ext["digest"]; digest != "" {
			key = digest
			if err := payloadIsWhole(dir, digest); err != nil {
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
