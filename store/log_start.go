package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"ledge/store/osfile"
)

// logStartsFile records the first sequence of each log, in the folder of the store. A log that begins later has lost events. A
// log that begins earlier still has block files to remove.
const logStartsFile = "fronts.json"

// logStart is the first sequence of a log, with the chain hash of the event before it.
type logStart struct {
	First uint64 `json:"first"`
	Chain string `json:"chain"` // hex; empty where it is not known
	// Marked says that the log was empty when it was recorded. So the first event of every group in it is marked, see [fence].
	Marked bool `json:"marked,omitempty"`
}

func (f logStart) chain() Chain {
	sum, _ := chainOf(f.Chain)
	return sum
}

// chained reports whether the first event has a predecessor whose chain hash is known.
func (f logStart) chained() bool { return f.First > 1 && f.Chain != "" }

// possible reports whether the values are valid.
func (f logStart) possible() bool {
	_, ok := chainOf(f.Chain)
	return f.First > 0 && (ok || f.Chain == "")
}

// chainOf reads a chain hash in hex.
func chainOf(text string) (c Chain, ok bool) {
	if len(text) != 2*len(c) {
		return c, false
	}
	_, err := hex.Decode(c[:], []byte(text))
	return c, err == nil
}

// logStarts is the content of the file, by the names of the streams.
type logStarts struct {
	path string
	mu   sync.Mutex
	all  map[string]logStart
}

type logStartsText struct {
	Fronts json.RawMessage `json:"fronts"`
	Sum    string          `json:"sum"` // hex SHA-256 of the compact JSON of starts
}

// maxLogStarts bounds the record, in bytes.
const maxLogStarts = 64 << 10

// readLogStarts reads the file. The result is empty if there is no file yet. A file that does not match its checksum is a [Damage].
func readLogStarts(dir string) (*logStarts, error) {
	f := &logStarts{path: filepath.Join(dir, logStartsFile), all: map[string]logStart{}}
	text, err := osfile.Read(f.path, maxLogStarts)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case len(text) > maxLogStarts:
		return nil, f.damage(fmt.Sprintf("it is longer than %d bytes", maxLogStarts))
	case osfile.Unreadable(err):
		return nil, f.damage(err.Error())
	case err != nil:
		return nil, fmt.Errorf("record of where the logs begin: %w", err)
	}
	var file logStartsText
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, f.damage(err.Error())
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, file.Fronts); err != nil {
		return nil, f.damage(err.Error())
	}
	if sum := sha256.Sum256(compact.Bytes()); hex.EncodeToString(sum[:]) != file.Sum {
		return nil, f.damage("its checksum does not hold")
	}
	if err := json.Unmarshal(file.Fronts, &f.all); err != nil {
		return nil, f.damage(err.Error())
	}
	for name, one := range f.all {
		if !one.possible() {
			return nil, f.damage(fmt.Sprintf("%s cannot begin at %d after %q", name, one.First, one.Chain))
		}
	}
	return f, nil
}

func (f *logStarts) damage(what string) error {
	return &Damage{Stream: f.path, What: what + " (it says where each log begins; without the file, what the logs begin with is believed)"}
}

// of returns the recorded start of a log.
func (f *logStarts) of(stream string) (logStart, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.all[stream]
	return one, ok
}

// known returns the recorded start of a log, or nil.
func (f *logStarts) known(stream string) *logStart {
	if one, ok := f.of(stream); ok {
		return &one
	}
	return nil
}

// record adds starts and writes the file durably. It does nothing if the file has them.
func (f *logStarts) record(moved map[string]logStart) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := maps.Clone(f.all)
	maps.Copy(all, moved)
	if maps.Equal(all, f.all) {
		return nil
	}
	inner, err := json.Marshal(all)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(inner)
	text, err := json.Marshal(logStartsText{inner, hex.EncodeToString(sum[:])})
	if err == nil {
		err = writeIn(f.path, text)
	}
	if err != nil {
		return fmt.Errorf("record of where the logs begin: %w", err)
	}
	f.all = all
	return nil
}
