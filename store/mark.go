package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const markFile = "clean-stop.json"

// mark is left behind by a clean stop and taken away by the next start. It says where each log ended: one more witness
// against a log that lost its tail meanwhile.
// It is only a hint: one that does not match its checksum counts as none.
type mark struct {
	Ends map[string]end `json:"ends"`
	Sum  string         `json:"sum"` // hex SHA-256 of the JSON of Ends
}

// sum is what Sum must be.
func (m *mark) sum() string {
	text, err := json.Marshal(m.Ends)
	if err != nil {
		return "" // cannot be: a map of numbers and texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// mostMark bounds the file, in bytes.
const mostMark = 64 << 10

type end struct {
	Last  uint64 `json:"last"`
	Chain string `json:"chain"`
}

// takeMark reads the mark; nil where the last stop was not clean.
func takeMark(dir string) (*mark, error) {
	path := filepath.Join(dir, markFile)
	text, err := ReadFile(path, mostMark) // after any other error text is nothing, or too long
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrNotRegular), errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("mark of the last stop: %w", err)
	}
	m := &mark{}
	if !m.read(text) {
		return nil, nil
	}
	return m, nil
}

// read reports whether text is a whole mark. One of an earlier version, without a checksum, is none.
func (m *mark) read(text []byte) bool { return json.Unmarshal(text, m) == nil && m.Sum == m.sum() }

// dropMark removes the mark: from now on a stop without Close is not a clean one.
func dropMark(dir string) error {
	err := os.Remove(filepath.Join(dir, markFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mark of the last stop: %w", err)
	}
	return SyncDir(dir)
}

func leaveMark(dir string, logs []*Log) error {
	m := mark{Ends: map[string]end{}}
	for _, l := range logs {
		last, chain := l.Last()
		m.Ends[l.name] = end{last, hex.EncodeToString(chain[:])}
	}
	m.Sum = m.sum()
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, markFile)
	_ = os.Remove(path + ".new") // what a crash has left, or something else
	if err := writeSynced(path+".new", text); err != nil {
		return fmt.Errorf("mark of the stop: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("mark of the stop: %w", err)
	}
	return SyncDir(dir)
}

// writeSynced makes a file that is not there yet, and makes its content durable.
func writeSynced(path string, text []byte) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}
