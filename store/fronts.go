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
)

// frontsFile is the record of where each log begins, in the folder of the store. A log that begins later than that has lost
// events; one that begins earlier has not given all of them back to the disk yet.
const frontsFile = "fronts.json"

// front is the first sequence that a log keeps, with the chain hash of the event before.
type front struct {
	First uint64 `json:"first"`
	Chain string `json:"chain"` // hex; empty where it is not known
	// Marked: the log had no event when it was put on record, so that every group in it is marked.
	Marked bool `json:"marked,omitempty"`
}

func (f front) chain() Chain {
	sum, _ := chainOf(f.Chain)
	return sum
}

// chained reports whether the first event follows one that is gone, and the chain hash of that one is known.
func (f front) chained() bool { return f.First > 1 && f.Chain != "" }

// possible reports whether there can be such a front.
func (f front) possible() bool {
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

// fronts is the record, by the streams' names.
type fronts struct {
	path string
	mu   sync.Mutex
	all  map[string]front
}

type frontsText struct {
	Fronts json.RawMessage `json:"fronts"`
	Sum    string          `json:"sum"` // hex SHA-256 of the compact JSON of fronts
}

// mostFronts bounds the record, in bytes.
const mostFronts = 64 << 10

// readFronts reads the record; it is empty where there is none yet. One that is not as it was written is a [Damage].
func readFronts(dir string) (*fronts, error) {
	f := &fronts{path: filepath.Join(dir, frontsFile), all: map[string]front{}}
	text, err := ReadFile(f.path, mostFronts)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case len(text) > mostFronts:
		return nil, f.damage(fmt.Sprintf("it is longer than %d bytes", mostFronts))
	case err != nil:
		return nil, fmt.Errorf("record of the logs' fronts: %w", err)
	}
	var file frontsText
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

func (f *fronts) damage(what string) error {
	return &Damage{Stream: f.path, What: what + " (it says where each log begins; without the file, what the logs begin with is believed)"}
}

// of returns the front of a log that is on record.
func (f *fronts) of(stream string) (front, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.all[stream]
	return one, ok
}

// known is the front of a log that is on record, nil for none.
func (f *fronts) known(stream string) *front {
	if one, ok := f.of(stream); ok {
		return &one
	}
	return nil
}

// record makes fronts durable, those of other streams with them. What is on record already costs nothing.
func (f *fronts) record(moved map[string]front) error {
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
	text, err := json.Marshal(frontsText{inner, hex.EncodeToString(sum[:])})
	if err == nil {
		err = writeDurably(f.path, text)
	}
	if err != nil {
		return fmt.Errorf("record of the logs' fronts: %w", err)
	}
	f.all = all
	return nil
}
