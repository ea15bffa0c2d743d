package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ledge/store/osfile"
)

// logStart is the first sequence of a log, with the chain hash of the event before it.
type logStart struct {
	First uint64 `json:"seq"`
	Chain string `json:"chain,omitempty"` // hex; empty if it is not known
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

// segment is a block file that is full, and durable.
type segment struct {
	Block uint32    `json:"block"`
	First uint64    `json:"first"`
	Last  uint64    `json:"last"`
	Bytes int64     `json:"bytes"` // the size of the file
	At    time.Time `json:"at"`    // when the last event was stored
	Chain string    `json:"chain"` // of the last event, hex
}

// logEnd is where a log ended at a clean stop.
type logEnd struct {
	Seq   uint64 `json:"seq"`
	Chain string `json:"chain"`
	Bytes int64  `json:"bytes"` // the size of the last block file
}

// contents is what a manifest says. Segments follow each other without a gap; the first one may begin before First.
type contents struct {
	First    logStart  `json:"first"`
	Node     string    `json:"node,omitempty"` // the data folder's id; empty from earlier versions
	Segments []segment `json:"segments"`
	End      *logEnd   `json:"end,omitempty"` // as of the last clean stop, which may be long ago
}

// possible returns what is wrong with the values, "" for nothing.
func (c *contents) possible() string {
	if !c.First.possible() {
		return fmt.Sprintf("the log cannot begin at %d after %q", c.First.First, c.First.Chain)
	}
	due, block := uint64(0), uint32(0)
	for _, s := range c.Segments {
		if _, ok := chainOf(s.Chain); !ok || s.First == 0 || s.Last < s.First || due > 0 && s.First != due || s.Block <= block || s.Bytes <= 0 {
			return fmt.Sprintf("%d.blk cannot have %d to %d", s.Block, s.First, s.Last)
		}
		due, block = s.Last+1, s.Block
	}
	if n := len(c.Segments); n > 0 && c.First.First > 0 && c.First.First < c.Segments[0].First {
		return fmt.Sprintf("the log begins at %d, and its first block file with %d", c.First.First, c.Segments[0].First)
	}
	if c.End != nil {
		if _, ok := chainOf(c.End.Chain); !ok {
			return "its end has no chain hash"
		}
	}
	return ""
}

// manifest is the file that says where a log begins, which full block files it has, and where it ended at the last clean stop. A log that begins
// later has lost events. A log that begins earlier still has block files to remove.
type manifest struct {
	path string
	mu   sync.Mutex
	now  contents
	// missing says that there is no file yet: the log is new, of an earlier version, or has lost it.
	missing bool
}

type manifestText struct {
	Manifest json.RawMessage `json:"manifest"`
	Sum      string          `json:"sum"` // hex SHA-256 of the compact JSON of Manifest
}

// maxManifest bounds the file, in bytes: a million segments.
const maxManifest = 256 << 20

const manifestEnding = ".manifest"

func manifestPath(dir, stream string) string { return filepath.Join(dir, stream+manifestEnding) }

// readManifest reads the manifest of a stream. If there is none, where the log begins is taken from the record of earlier versions. A file that
// does not match its checksum is a [Damage].
func readManifest(dir, stream string) (*manifest, error) {
	m := &manifest{path: manifestPath(dir, stream)}
	text, err := readSummed(m.path, maxManifest, func(text []byte) (inner json.RawMessage, sum string, err error) {
		var file manifestText
		err = json.Unmarshal(text, &file)
		return file.Manifest, file.Sum, err
	})
	if errors.Is(err, fs.ErrNotExist) {
		m.missing = true
		m.now.First, err = earlierStart(dir, stream)
		return m, err
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &m.now); err != nil {
		return nil, damagedRecord(m.path, err.Error())
	}
	if why := m.now.possible(); why != "" {
		return nil, damagedRecord(m.path, why)
	}
	return m, nil
}

// readSummed reads a file with JSON and its checksum.
func readSummed(path string, most int64, open func([]byte) (json.RawMessage, string, error)) ([]byte, error) {
	text, err := osfile.Read(path, most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case int64(len(text)) > most:
		return nil, damagedRecord(path, fmt.Sprintf("it is longer than %d bytes", most))
	case osfile.Unreadable(err):
		return nil, damagedRecord(path, err.Error())
	case err != nil:
		return nil, fmt.Errorf("record of where the log begins: %w", err)
	}
	inner, want, err := open(text)
	if err != nil {
		return nil, damagedRecord(path, err.Error())
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, inner); err != nil {
		return nil, damagedRecord(path, err.Error())
	}
	if sum := sha256.Sum256(compact.Bytes()); hex.EncodeToString(sum[:]) != want {
		return nil, damagedRecord(path, "its checksum does not hold")
	}
	return compact.Bytes(), nil
}

func damagedRecord(path, what string) error {
	return &Damage{Stream: path, What: what + " (it says where the log begins; without the file, what the log begins with is believed)"}
}

// earlierFile is where versions before the manifest recorded the first sequences of all logs. Their backups have it too.
const earlierFile = "fronts.json"

const maxEarlier = 64 << 10 // bytes

type earlierText struct {
	Fronts json.RawMessage `json:"fronts"`
	Sum    string          `json:"sum"` // hex SHA-256 of the compact JSON of Fronts
}

type earlierStartText struct {
	First  uint64 `json:"first"`
	Chain  string `json:"chain"`
	Marked bool   `json:"marked,omitempty"`
}

// earlierStart returns where the log begins by the record of earlier versions; zeros if it has none.
func earlierStart(dir, stream string) (logStart, error) {
	path := filepath.Join(dir, earlierFile)
	text, err := readSummed(path, maxEarlier, func(text []byte) (inner json.RawMessage, sum string, err error) {
		var file earlierText
		err = json.Unmarshal(text, &file)
		return file.Fronts, file.Sum, err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return logStart{}, nil
	}
	if err != nil {
		return logStart{}, err
	}
	all := map[string]earlierStartText{}
	if err := json.Unmarshal(text, &all); err != nil {
		return logStart{}, damagedRecord(path, err.Error())
	}
	if _, later := all[laterNote]; later {
		return logStart{}, nil // the manifest is lost
	}
	for name, one := range all {
		if f := logStart(one); !f.possible() {
			return f, damagedRecord(path, fmt.Sprintf("%s cannot begin at %d after %q", name, one.First, one.Chain))
		}
	}
	return logStart(all[stream]), nil
}

// laterNote stands in earlierFile for the name of a log, where earlier versions print it in their refusal. They would write to the log and leave
// the manifest as it is, which then names a log that is not there.
const laterNote = "a later version of Ledge has opened this data folder; start that version, or one that reads its backup; it"

// refuseEarlierVersions has versions without manifests refuse the folder, and removes what only they use.
func refuseEarlierVersions(dir string) error {
	text, err := startsText(map[string]earlierStartText{laterNote: {}})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, earlierFile)
	if have, err := osfile.Read(path, maxEarlier); err == nil && bytes.Equal(have, text) {
		return nil
	}
	err = errors.Join(osfile.Remove(filepath.Join(dir, "clean-stop.json")), os.RemoveAll(filepath.Join(dir, "index")))
	if werr := osfile.Write(path, text); werr != nil && !osfile.IsFull(werr) {
		err = errors.Join(err, werr)
	}
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}

// startsText returns what earlierFile has for some logs.
func startsText(all map[string]earlierStartText) ([]byte, error) {
	inner, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(inner)
	return json.Marshal(earlierText{inner, hex.EncodeToString(sum[:])})
}

// start returns where the log begins, if that is on record.
func (m *manifest) start() (logStart, bool) {
	if m == nil {
		return logStart{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.First, m.now.First.First > 0
}

// known returns where the log begins, or nil.
func (m *manifest) known() *logStart {
	if one, ok := m.start(); ok {
		return &one
	}
	return nil
}

// segments returns the full block files, ascending. The caller does not change them.
func (m *manifest) segments() []segment {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.Segments
}

// end returns where the log ended at a clean stop, or nil.
func (m *manifest) end() *logEnd {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.End
}

// change changes the manifest and writes it durably. It does nothing if the file says that already.
func (m *manifest) change(f func(*contents)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.now
	next.Segments = append([]segment{}, m.now.Segments...)
	f(&next)
	before, err := json.Marshal(m.now)
	if err != nil {
		return err
	}
	inner, err := json.Marshal(next)
	if err != nil || bytes.Equal(before, inner) && !m.missing {
		return err
	}
	text, err := withSum(inner)
	if err == nil {
		err = writeIn(m.path, text)
	}
	if err != nil {
		return fmt.Errorf("record of where the log begins: %w", err)
	}
	m.now, m.missing = next, false
	return nil
}

// manifestOf returns the text of a manifest.
func manifestOf(c contents) ([]byte, error) {
	inner, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return withSum(inner)
}

func withSum(inner []byte) ([]byte, error) {
	sum := sha256.Sum256(inner)
	return json.Marshal(manifestText{inner, hex.EncodeToString(sum[:])})
}

// reopen takes the blocks from one on out of the segments: the server may append to the last one, and what is on record of the others is not true
// any more. That is in memory only: the file has them until the next change.
func (m *manifest) reopen(block uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Segments = slices.DeleteFunc(slices.Clone(m.now.Segments), func(s segment) bool { return s.Block >= block })
}

// move records that the log begins at a sequence, behind an event with a chain hash.
func (m *manifest) move(to uint64, before Chain) error {
	return m.change(func(c *contents) {
		c.First.First, c.First.Chain = to, hex.EncodeToString(before[:])
		c.Segments = slices.DeleteFunc(c.Segments, func(s segment) bool { return s.Last < to })
	})
}
