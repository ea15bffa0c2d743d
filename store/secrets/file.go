package secrets

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"ledge/domain"
	"ledge/store/osfile"
)

// Limits in bytes of JSON. Each part of the file has its own, so that a client that posts secrets leaves room for credentials.
const (
	maxBytes           = 8 << 20  // secrets with their uses
	maxCredentialBytes = 24 << 20 // 10,000 passwords and 100,000 tokens take about 12 MiB
	maxKeyBytes        = 64 << 10
	MaxFileBytes       = maxBytes + maxCredentialBytes + maxKeyBytes + 1<<20 // with what encryption adds
)

// File is the secrets of all services. Its methods may be called from several goroutines.
type File struct {
	name string
	key  *AgeKey // nil: the file is not encrypted

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

// OpenWith reads the file, where there is one. It refuses a file that others than its owner can read. With a key, the file is encrypted
// from then on: one that is not yet is replaced before OpenWith returns. For an encrypted file without its key see [isKey].
func OpenWith(name string, key *AgeKey) (*File, error) {
	f := &File{name: name, key: key}
	f.hold(content{})
	c, encrypted, err := f.begin(key)
	if err != nil {
		return nil, err
	}
	if c != nil {
		f.hold(*c)
	}
	if c != nil && key != nil && !encrypted {
		if err := f.write(*c); err != nil {
			return nil, fmt.Errorf("secrets: encrypt %s: %w", name, err)
		}
	}
	return f, nil
}

// OpenReading opens the file of the secret store to read it only: nothing in its folder is changed.
func OpenReading(name string, key *AgeKey) (*File, error) {
	c, _, err := read(name, key)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, key: key}
	f.hold(content{})
	if c != nil {
		f.hold(*c)
	}
	return f, nil
}

// Rekey replaces the file by one that is encrypted with the key to; nil stands for none. It reports whether there was a file.
func Rekey(name string, from, to *AgeKey) (bool, error) {
	f := &File{name: name, key: to}
	c, _, err := f.begin(from)
	if err != nil || c == nil {
		return false, err
	}
	if err := f.write(*c); err != nil {
		return false, fmt.Errorf("secrets: %w", err)
	}
	return true, nil
}

// begin removes what a crash has left of a write, and reads the file.
func (f *File) begin(key *AgeKey) (c *content, encrypted bool, err error) {
	if err := os.Remove(f.unfinished()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("secrets: remove what a crash has left: %w", err)
	}
	return read(f.name, key)
}

// Check reports what [OpenWith] would refuse, and changes nothing. Of an encrypted file without the right key it compares only the outer
// checksum; then whole is false.
func Check(name string, key *AgeKey) (whole bool, err error) {
	_, _, err = read(name, key)
	if isKey(err) {
		return false, nil
	}
	return err == nil, err
}

// read reads the file; it returns nil where there is none.
func read(name string, key *AgeKey) (c *content, encrypted bool, err error) {
	file, err := osfile.Open(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("secrets: %w", err)
	}
	defer file.Close()
	if err := checkMode(file); err != nil {
		return nil, false, err
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, false, cure(name, fmt.Errorf("%w: %w", errUnreadable, err))
	}
	if encrypted = isEncrypted(text); encrypted {
		text, err = key.decrypt(text)
	}
	var read content
	if err == nil {
		read, err = decode(text)
	}
	switch {
	case isKey(err):
		return nil, encrypted, fmt.Errorf("secrets: %s: %w", name, err)
	case err != nil:
		return nil, encrypted, cure(name, err)
	}
	return &read, encrypted, nil
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
	if err := f.write(c); err != nil {
		switch {
		case domain.CodeOf(err) == domain.TooLarge:
			return err
		case osfile.IsFull(err):
			return domain.Errorf(domain.Full, "the disk has no room for the secrets; free some space")
		}
		return fmt.Errorf("secrets: %w", err)
	}
	f.hold(c)
	return nil
}

// write replaces the file in one step: after a crash it is the old one or the new one.
func (f *File) write(c content) error {
	text, err := encode(c)
	if err != nil {
		return err
	}
	if text, err = f.key.encrypt(text); err != nil {
		return err
	}
	return osfile.Write(f.name, text)
}
