package store

import (
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
type mark struct {
	Ends map[string]end `json:"ends"`
}

type end struct {
	Last  uint64 `json:"last"`
	Chain string `json:"chain"`
}

// takeMark reads the mark; nil where the last stop was not clean.
func takeMark(dir string) (*mark, error) {
	path := filepath.Join(dir, markFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mark of the last stop: %w", err)
	}
	m := &mark{}
	if json.Unmarshal(text, m) != nil {
		m = nil // as good as none
	}
	return m, nil
}

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
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, markFile)
	if err := os.WriteFile(path+".new", text, 0o640); err != nil {
		return fmt.Errorf("mark of the stop: %w", err)
	}
	if _, err := syncFile(path + ".new"); err != nil {
		return fmt.Errorf("mark of the stop: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("mark of the stop: %w", err)
	}
	return SyncDir(dir)
}
