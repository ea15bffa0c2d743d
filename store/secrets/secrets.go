// Package secrets keeps three kinds of secrets in one file of the data folder that only its owner can read: the passwords and keys
// that Ledge needs for others' services, the hashes of its users' passwords and tokens ([File.Credential]), and its own keys
// ([File.Key]). They are not events, and not part of the state that is folded from events: DESIGN.md says why.
//
// Secrets for others' services leave this package by [Secrets.Use] alone, which refuses each use that nobody has allowed. No error
// shows a secret, and formatting a [File] shows none.
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
	"slices"
	"strings"
	"sync"
	"syscall"

	"ledge/domain"
	"ledge/store"
)

// Limits in bytes of JSON. Each part of the file has its own, so that a client that posts secrets leaves room for credentials.
const (
	maxBytes           = 8 << 20  // secrets with their uses
	maxCredentialBytes = 24 << 20 // 10,000 passwords and 100,000 tokens take about 12 MiB
	maxKeyBytes        = 64 << 10
	maxFileBytes       = maxBytes + maxCredentialBytes + maxKeyBytes + 4<<10
)

// byPath are the key-value pairs at each path.
type byPath map[string]map[string]string

// File is the secrets of all services. Its methods may be called from several goroutines.
type File struct {
	name string

	changing sync.Mutex // held across a change of the file, which takes an fsync; readers do not wait for it
	mu       sync.RWMutex
	// content is a function because nothing formats what a function returns: package fmt looks into structures, unexported ones too,
	// where it is not asked for their String.
	content func() content
}

// hold puts c in force. A content that is in force is never changed: each change makes a copy.
func (f *File) hold(c content) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content = func() content { return c }
}

// now returns the content that is in force.
func (f *File) now() content {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.content()
}

// Open reads the file, where there is one. It refuses a file that others than its owner can read.
func Open(name string) (*File, error) {
	f := &File{name: name}
	f.hold(content{})
	if err := os.Remove(f.unfinished()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("secrets: remove what a crash has left: %w", err)
	}
	c, err := read(name)
	if err != nil {
		return nil, err
	}
	f.hold(c)
	return f, nil
}

// Check reports what [Open] would refuse, and changes nothing.
func Check(name string) error {
	_, err := read(name)
	return err
}

// read reads the file; it returns nothing where there is none.
func read(name string) (c content, err error) {
	file, err := store.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("secrets: %w", err)
	}
	defer file.Close()
	if err := checkMode(file); err != nil {
		return c, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return c, fmt.Errorf("secrets: %w", err)
	}
	if c, err = decode(text); err != nil {
		return c, cure(name, err)
	}
	return c, nil
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
	file      *File
	service   string
	permitted Permitted
}

// Permitted are the uses, by path, that the operator allows beside those that are stored with the secrets.
type Permitted map[string][]domain.SecretUse

// Of returns the secrets of a service.
func (f *File) Of(service string, permitted Permitted) Secrets {
	byPath := Permitted{}
	for path, uses := range permitted {
		byPath[canonical(path)] = append(byPath[canonical(path)], uses...)
	}
	return Secrets{f, service, byPath}
}

// Put replaces all that is at path, with the uses of what was there, durably. A full disk is a domain.Full Error, more than the file
// may hold a domain.TooLarge one; then all is as before.
func (s Secrets) Put(path string, data map[string]string, uses []domain.SecretUse) error {
	path = canonical(path)
	return s.file.change(func(c content) (content, error) {
		c.secrets = with(c.secrets, s.service, path, maps.Clone(data), true)
		c.uses = with(c.uses, s.service, path, slices.Clone(uses), len(uses) > 0)
		return c, nil
	})
}

// change replaces the content durably, or returns an error and leaves it as it was. alter must not modify the maps of its argument.
// After errUnchanged of alter nothing is written.
func (f *File) change(alter func(content) (content, error)) error {
	f.changing.Lock()
	defer f.changing.Unlock()
	c, err := alter(f.now())
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := encode(c)
	if err != nil {
		return err
	}
	if err := f.write(text); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return domain.Errorf(domain.Full, "the disk has no room for the secrets; free some space")
		}
		return fmt.Errorf("secrets: %w", err)
	}
	f.hold(c)
	return nil
}

// with returns a copy of all in which a path of a service has v, or is not there.
func with[M ~map[string]V, V any](all map[string]M, service, path string, v V, there bool) map[string]M {
	all, mine := maps.Clone(all), maps.Clone(all[service])
	if all == nil {
		all = map[string]M{}
	}
	if mine == nil {
		mine = M{}
	}
	mine[path] = v
	if !there {
		delete(mine, path)
	}
	all[service] = mine
	if len(mine) == 0 {
		delete(all, service)
	}
	return all
}

// Use returns what is at path for one use. Where nothing is, the error is a domain.NotFound one. Where neither the secret nor the
// operator allows the use, it is a domain.Invalid one. AllowInsecure of u says that the use is insecure.
func (s Secrets) Use(path string, u domain.SecretUse) (map[string]string, error) {
	c, at := s.file.now(), canonical(path)
	data, ok := c.secrets[s.service][at]
	if !ok {
		return nil, domain.Errorf(domain.NotFound, "there is no secret %q; post it to /api/v2/secret with \"allowedUses\":[%s]", path, asJSON(u))
	}
	uses := slices.Concat(c.uses[s.service][at], s.permitted[at])
	if slices.ContainsFunc(uses, func(allowed domain.SecretUse) bool { return allowed.Covers(u) }) {
		return maps.Clone(data), nil
	}
	secure := u
	secure.AllowInsecure = false
	if slices.ContainsFunc(uses, func(allowed domain.SecretUse) bool { return allowed.Covers(secure) }) {
		return nil, domain.Errorf(domain.Invalid, `the secret %q may be used for %s only over TLS with a verified certificate; use that, or post the secret again with "allowedUses":[%s]`, path, u, asJSON(u))
	}
	return nil, domain.Errorf(domain.Invalid, `the secret %q may not be used for %s; post it again with "allowedUses":[%s], or name this use in the setting secret-uses`, path, u, asJSON(u))
}

func asJSON(u domain.SecretUse) string {
	text, _ := json.Marshal(u)
	return string(text)
}

// canonical is a path as it is compared: EdgeX's secret store joins it to others, which takes these slashes away.
func canonical(path string) string { return strings.Trim(path, "/") }

// write replaces the file in one step: after a crash it is the old one or the new one.
func (f *File) write(text []byte) error {
	tmp, err := store.OpenFile(f.unfinished(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
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
