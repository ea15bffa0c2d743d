// Package secrets keeps the passwords and keys that Ledge needs for others' services, in one file of the data folder
// that only its owner can read. They are no events, and no part of any state that is folded from them: DESIGN.md says why.
//
// Values leave this package by [Secrets.Get] alone. They are in no error and in nothing that formats a [File].
package secrets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"ledge/domain"
	"ledge/store"
)

// maxBytes bounds the file.
const maxBytes = 8 << 20

// byPath are the key-value pairs at each path.
type byPath map[string]map[string]string

// File is the secrets of all services. Its methods may be called from several goroutines.
type File struct {
	name string

	mu sync.RWMutex
	// content are the secrets by service. It is a function because nothing formats what a function returns: package fmt
	// looks into structures, unexported ones too, where it is not asked for their String.
	content func() map[string]byPath
}

func (f *File) hold(content map[string]byPath) {
	f.content = func() map[string]byPath { return content }
}

// Open reads the file, where there is one. It refuses a file that others than its owner can read.
func Open(name string) (*File, error) {
	f := &File{name: name}
	f.hold(map[string]byPath{})
	if err := os.Remove(f.unfinished()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("secrets: remove what a crash has left: %w", err)
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	defer file.Close()
	if err := checkMode(file); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	var content map[string]byPath
	if err := json.Unmarshal(text, &content); err != nil || content == nil { // the error may quote a secret
		return nil, fmt.Errorf("secrets: %s is not what Ledge has written; restore it from a backup, or move it away and post the secrets again", name)
	}
	f.hold(content)
	return f, nil
}

func checkMode(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("secrets: %s has mode %04o, by which others than its owner can get at it; run `chmod 600 %s`, and replace the secrets that may be known now", file.Name(), mode, file.Name())
	}
	return nil
}

func (f *File) unfinished() string { return f.name + ".new" }

// Secrets are those of one service: others do not see them, as in EdgeX.
type Secrets struct {
	file    *File
	service string
}

// Of returns the secrets of a service.
func (f *File) Of(service string) Secrets { return Secrets{f, service} }

// Put replaces all that is at path, durably. A full disk is a domain.Full Error, more than the file may hold a
// domain.TooLarge one; then all is as before.
func (s Secrets) Put(path string, data map[string]string) error {
	f := s.file
	f.mu.Lock()
	defer f.mu.Unlock()
	content := maps.Clone(f.content())
	mine := maps.Clone(content[s.service])
	if mine == nil {
		mine = byPath{}
	}
	mine[canonical(path)] = maps.Clone(data)
	content[s.service] = mine
	text, err := json.Marshal(content)
	if err != nil {
		return errors.New("secrets: encode")
	}
	if len(text) > maxBytes {
		return domain.Errorf(domain.TooLarge, "all secrets together would be longer than %d bytes, which is the limit; make some shorter by posting them again", maxBytes)
	}
	if err := f.write(text); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return domain.Errorf(domain.Full, "the disk has no room for the secrets; free some space")
		}
		return fmt.Errorf("secrets: %w", err)
	}
	f.hold(content)
	return nil
}

// Get returns what is at path.
func (s Secrets) Get(path string) (data map[string]string, ok bool) {
	s.file.mu.RLock()
	defer s.file.mu.RUnlock()
	data, ok = s.file.content()[s.service][canonical(path)]
	return maps.Clone(data), ok
}

// canonical is a path as it is compared: EdgeX's secret store joins it to others, which takes these slashes away.
func canonical(path string) string { return strings.Trim(path, "/") }

// write replaces the file in one step: after a crash it is the old one or the new one.
func (f *File) write(text []byte) error {
	tmp, err := os.OpenFile(f.unfinished(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing of that name
	defer tmp.Close()
	if _, err := tmp.Write(text); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), f.name); err != nil {
		return err
	}
	return store.SyncDir(filepath.Dir(f.name))
}
