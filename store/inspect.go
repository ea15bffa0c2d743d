package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ledge/store/natsblock"
	"ledge/store/osfile"

	"github.com/nats-io/nats-server/v2/server"
)

// Known is where a log is known to have been: an event stood at this sequence, with this hash, if that is not zeros. By names who remembers it, such as
// "the projection's checkpoint" or "the last clean stop".
type Known struct {
	By    string
	Seq   uint64
	Chain Chain
}

// InspectOptions configures [Inspect].
type InspectOptions struct {
	// Known lists, by stream, what others remember of the log. Inspect adds what the manifest says.
	Known map[string][]Known
	// Begun is, by stream, the first event that the state file has something of, which counts if the manifest is missing or damaged.
	Begun map[string]uint64
	// Nodes are those of [Options].
	Nodes map[string]string
	// ArchiveDir and SnapshotDir are those of [Options].
	ArchiveDir, SnapshotDir string
	// Progress is called after each block with the bytes that were read of all streams and those that there are.
	Progress func(done, total int64)
}

// Inspection is what the block files of one stream hold.
type Inspection struct {
	Stream      string
	Count       uint64 // of whole events
	First, Last uint64 // of the whole events; Last is also that of removed ones
	Head        Chain  // the chain hash of Last, zeros where it is not known
	Torn        *Torn  // what the next start cuts off
	Faults      []Fault
	More        int    // faults that were not kept, for there are over mostFaults
	Meta        string // what is wrong with meta.inf or meta.sum, which the blocks do not need
	NoManifest  bool   // the manifest is lost: others were written since

	start *logStart // by the manifest, or if that is missing by the archives
}

// Torn is an unfinished write at the end of a log: no event in it was ever answered.
type Torn struct {
	Block  uint32 // in which it begins; later blocks are part of it
	Offset int64
	Bytes  int64 // to the end of the last block
}

// Fault is a part of a log that differs from what was written.
type Fault struct {
	Stream string
	Seq    uint64 // the first sequence that is missing or altered
	To     uint64 // the last one; 0 where that is not known
	Block  uint32 // 0 where it is in no block
	Offset int64
	Bytes  int64 // 0 where nothing is there
	What   string
}

// Error is the message of the [Damage], with block and offset.
func (f Fault) Error() string { return f.damage().Error() }

func (f Fault) damage() *Damage { return &Damage{f.Stream, f.Seq, f.What + f.place()} }

// place says which sequences it is and where.
func (f Fault) place() string {
	var list []string
	if f.To > f.Seq {
		list = append(list, fmt.Sprintf("%d to %d", f.Seq, f.To))
	}
	if f.Block > 0 {
		list = append(list, fmt.Sprintf("%d.blk at offset %d", f.Block, f.Offset))
	}
	if f.Bytes > 0 {
		list = append(list, fmt.Sprintf("%d bytes", f.Bytes))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// String is one line for people, without the cure.
func (f Fault) String() string {
	what := f.Stream
	if f.Seq > 0 {
		what += fmt.Sprintf(" %d", f.Seq)
	}
	return what + ": " + f.What + f.place()
}

// Unwrap makes [IsDamage] true.
func (f Fault) Unwrap() error { return f.damage() }

// mostFaults is how many faults of a stream are kept; the others are counted.
const mostFaults = 1000

// Damage returns the first fault, nil where the stream is whole.
func (in *Inspection) Damage() error {
	if len(in.Faults) == 0 {
		return nil
	}
	return in.Faults[0]
}

// Streams returns the names of the streams: events, notifications, readings.
func Streams() []string {
	names := make([]string, len(streams))
	for i, st := range streams {
		names[i] = st.name
	}
	return names
}

// Inspect reads every record of every block in the store's folder and holds it against its checksum, its sequence, its
// chain hash and its subject, and each log against its recorded start and against what is known of its end. It opens
// nothing for writing and needs the memory of one block. The error is about reading; damage is in the inspections.
func Inspect(ctx context.Context, dir string, o InspectOptions) ([]Inspection, error) {
	manifests, faults, mixed, err := inspectManifests(dir, o)
	if err != nil {
		return nil, err
	}
	var done, total int64
	for _, st := range streams {
		n, err := natsblock.FilesOf(streamDir(dir, st.name)).Bytes()
		if err != nil {
			return nil, err
		}
		total += n
	}
	var all []Inspection
	for i, st := range streams {
		in := inspectorIn(dir, st)
		m := manifests[i]
		in.known = slices.SortedFunc(slices.Values(append(m.witnesses(), o.Known[st.name]...)), func(a, b Known) int {
			return cmp.Or(cmp.Compare(a.Seq, b.Seq), bytes.Compare(a.Chain[:], b.Chain[:])) // those that know no hash first
		})
		in.progress = func(n int64) {
			if done += n; o.Progress != nil {
				o.Progress(done, total)
			}
		}
		in.start, in.startUnknown = m.known(), m.path == ""
		in.report.start = in.start
		if in.start == nil {
			in.begun = begunBy(in.log, o.Begun[st.name])
		}
		if err := in.run(ctx); err != nil {
			return nil, err
		}
		in.report.Meta = checkMeta(streamDir(dir, st.name), st.name, in.report.Last > 0)
		in.report.NoManifest = m.missing && in.report.Last > 0 && slices.ContainsFunc(manifests, func(m *manifest) bool { return !m.missing })
		all = append(all, in.report)
	}
	all[0].Faults = append(append(mixed, all[0].Faults...), faults...)
	return all, nil
}

// inspectManifests reads the manifests. Those that are damaged are faults, and are empty; so are files of two nodes (mixed).
func inspectManifests(dir string, o InspectOptions) (list []*manifest, faults, mixed []Fault, err error) {
	fault := func(err error) ([]Fault, error) {
		if d, ok := errors.AsType[*Damage](err); ok {
			return []Fault{{Stream: filepath.Base(d.Stream), What: d.What}}, nil
		}
		return nil, err
	}
	for _, st := range streams {
		m, err := readManifest(dir, st.name)
		if err != nil {
			m = &manifest{}
		}
		one, err := fault(err)
		if err != nil {
			return nil, nil, nil, err
		}
		list, faults = append(list, m), append(faults, one...)
	}
	changes := newLog(offline(dir), streams[0])
	if err := changes.openArchives(o.ArchiveDir, o.SnapshotDir); err != nil {
		return nil, nil, nil, err
	}
	list[0].fromArchives(&changes.logReader)
	_, err = oneNode(list, o.Nodes)
	mixed, err = fault(err)
	return list, faults, mixed, err
}

// witnesses returns the events that the manifest knows: the last one of each full block file, and the one at the last clean stop.
func (m *manifest) witnesses() (list []Known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.now.Segments {
		if c, ok := chainOf(s.Chain); ok {
			list = append(list, Known{"the manifest", s.Last, c})
		}
	}
	if e := m.now.End; e != nil && e.Seq > 0 {
		if c, ok := chainOf(e.Chain); ok {
			list = append(list, Known{"the last clean stop", e.Seq, c})
		}
	}
	return list
}

// mostMeta bounds each of the two files, in bytes.
const mostMeta = 1 << 20

// checkMeta says what is wrong with the two files in which the server keeps a stream's configuration; "" where they are whole,
// and where there are neither they nor events.
func checkMeta(dir, name string, events bool) string {
	text, err := osfile.Read(filepath.Join(dir, server.JetStreamMetaFile), mostMeta)
	sum, serr := osfile.Read(filepath.Join(dir, server.JetStreamMetaFileSum), mostMeta)
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(serr, fs.ErrNotExist) && !events:
		return ""
	case err != nil || len(text) == 0:
		return fmt.Sprintf("%s is missing or empty", filepath.Join(dir, server.JetStreamMetaFile))
	case serr != nil || len(sum) == 0:
		return fmt.Sprintf("%s is missing or empty", filepath.Join(dir, server.JetStreamMetaFileSum))
	}
	if _, _, err := natsblock.DecodeMeta(name, text, sum); err != nil {
		return fmt.Sprintf("%s: %v", dir, err)
	}
	return ""
}
