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

	"ledge/store/osfile"
)

const cleanStopFile = "clean-stop.json"

// cleanStop says where each log ended. A clean stop writes the file, and the next start removes it. It is one more checkpoint
// against a log that has lost its tail. It is only a hint: a file that does not match its checksum is ignored.
type cleanStop struct {
	Ends map[string]end `json:"ends"`
	Sum  string         `json:"sum"` // hex SHA-256 of the JSON of Ends
}

// sum is what Sum must be.
func (m *cleanStop) sum() string {
	text, err := json.Marshal(m.Ends)
	if err != nil {
		return "" // cannot be: a map of numbers and texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxCleanStop bounds the file, in bytes.
const maxCleanStop = 64 << 10

type end struct {
	Last  uint64 `json:"last"`
	Chain string `json:"chain"`
}

// readCleanStop reads the file. It returns nil if the last stop was not clean.
func readCleanStop(dir string) (*cleanStop, error) {
	path := filepath.Join(dir, cleanStopFile)
	text, err := osfile.Read(path, maxCleanStop) // after any other error text is nothing, or too long
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, osfile.ErrNotRegular), errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("record of the last stop: %w", err)
	}
	m := &cleanStop{}
	if !m.read(text) {
		return nil, nil
	}
	return m, nil
}

// read reports whether text is a valid file. Files of early versions have no checksum and are not valid.
func (m *cleanStop) read(text []byte) bool { return json.Unmarshal(text, m) == nil && m.Sum == m.sum() }

// removeCleanStop removes the file: from now on a stop without Close is not a clean one.
func removeCleanStop(dir string) error {
	err := os.Remove(filepath.Join(dir, cleanStopFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("record of the last stop: %w", err)
	}
	return osfile.SyncDir(dir)
}

func writeCleanStop(dir string, logs []*Log) error {
	m := cleanStop{Ends: map[string]end{}}
	for _, l := range logs {
		last, chain := l.Last()
		m.Ends[l.name] = end{last, hex.EncodeToString(chain[:])}
	}
	m.Sum = m.sum()
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, cleanStopFile)
	if err := osfile.Write(path, text); err != nil {
		return fmt.Errorf("record of the stop: %w", err)
	}
	return nil
}
