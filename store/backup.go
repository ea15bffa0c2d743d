package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"ledge/domain"
)

// End is where a log ends: the last sequence and its chain hash.
type End struct {
	Seq   uint64
	Chain Chain

	start *logStart // of the log, if the manifest is missing
}

// End returns where the log ends.
func (in *Inspection) End() End { return End{in.Last, in.Head, in.start} }

// startOr returns where the log begins; by the manifest, or by e if that is missing.
func (m *manifest) startOr(e End) *logStart {
	if one := m.known(); one != nil {
		return one
	}
	return e.start
}

// Copied is what [CopyBlocks] copied of a log.
type Copied struct {
	First, Last, Count uint64
	Head               Chain
	FirstBlock         uint32 // the blocks before it were removed by retention meanwhile
}

// errPast ends a walk behind the last event that is asked for.
var errPast = errors.New("past the end")

// CopyBlocks reads the blocks of a stream in the store's folder up to an end, which may be that of a running node, verifies them,
// and gives them to write one by one: the name below the folder and the bytes, which hold until write returns. The last block
// ends with the last event. Each gets the events in order, decoded. What is not whole is a [Damage].
func CopyBlocks(ctx context.Context, dir, name string, end End, write func(path string, text []byte) error, each func([]domain.Recorded) error) (Copied, error) {
	m, err := readManifest(dir, name)
	if err != nil {
		return Copied{}, err
	}
	c := &copying{dir: dir, end: end, write: write, each: each, manifest: m}
	for _, st := range streams {
		if st.name == name {
			c.stream = st
		}
	}
	c.restart()
	all, err := c.files.List()
	if err != nil {
		return Copied{}, err
	}
	for _, n := range all {
		if err := ctx.Err(); err != nil {
			return Copied{}, err
		}
		err := c.block(n)
		if errors.Is(err, fs.ErrNotExist) {
			c.first = n + 1 // the start has passed it, and so all before it
			c.restart()
			continue
		}
		if errors.Is(err, errPast) {
			break
		}
		if err != nil {
			return Copied{}, err
		}
	}
	return c.done()
}

type copying struct {
	*inspector
	dir      string
	stream   stream
	manifest *manifest
	end      End
	write    func(string, []byte) error
	each     func([]domain.Recorded) error
	first    uint32
	taken    Inspection // as it was after the last event that is copied
	cut      int64      // where the last event of the log ends in its block
	page     []domain.Recorded
}

// restart forgets what was read: the next block is the first.
func (c *copying) restart() {
	c.inspector, c.taken = inspectorIn(c.dir, c.stream), Inspection{}
	if c.first == 0 {
		c.start = c.manifest.startOr(c.end)
		c.begin()
	}
	c.inspector.each = c.take
}

func (c *copying) take(r Record) error {
	if r.Seq > c.end.Seq {
		c.cut = r.Offset
		return errPast
	}
	c.taken = c.report
	r.Data = bytes.Clone(r.Data) // what is decoded may hold on to it
	e, err := c.log.event(r.Message)
	if err != nil {
		return err
	}
	st, err := stampOf(r.Header)
	if err != nil {
		return c.log.damage(r.Seq, "%v", err)
	}
	c.page = append(c.page, domain.Recorded{Stamp: st, Seq: r.Seq, Chain: c.report.Head, Event: e})
	if r.Seq == c.end.Seq {
		c.cut = r.Offset + int64(len(r.Raw))
		return errPast
	}
	return nil
}

func (c *copying) block(n uint32) error {
	c.cut, c.page = -1, c.page[:0]
	walked := c.inspector.block(n)
	if walked != nil && !errors.Is(walked, errPast) {
		return walked
	}
	for _, f := range append(c.report.Faults, c.pending...) {
		if f.Seq <= c.end.Seq {
			return f
		}
	}
	text := c.scan.Text
	if c.cut >= 0 {
		text = text[:c.cut]
	}
	if err := c.write(fmt.Sprintf("%s/msgs/%d.blk", c.stream.name, n), text); err != nil {
		return err
	}
	if len(c.page) > 0 {
		if err := c.each(c.page); err != nil {
			return err
		}
	}
	return walked
}

func passed(stream string, end End) error {
	return fmt.Errorf("%s: retention removed all events up to %d, where its copy was to end, while it was copied; try again", stream, end.Seq)
}

// NotPassed returns an error if a log in the store's folder now begins after an end of [CopyBlocks]: retention has removed all
// that was copied.
func NotPassed(dir string, ends map[string]End) error {
	for name, end := range ends {
		m, err := readManifest(dir, name)
		if err != nil {
			return err
		}
		if f := m.startOr(end); f != nil && f.First > end.Seq+1 {
			return passed(name, end)
		}
	}
	return nil
}

// done checks that the log was read to its end.
func (c *copying) done() (Copied, error) {
	r := c.taken
	last := max(r.Last, c.removed)
	if last < c.end.Seq && c.first > 0 {
		return Copied{}, passed(c.stream.name, c.end)
	}
	if last < c.end.Seq {
		return Copied{}, c.log.damage(last+1, "its files end at %d, but the log is at %d", last, c.end.Seq)
	}
	if r.Last == c.end.Seq && r.Head != c.end.Chain && c.end.Seq > 0 && c.end.Chain != (Chain{}) {
		return Copied{}, c.log.damage(r.Last, "its chain hash is %x where the log has %x", r.Head, c.end.Chain)
	}
	return Copied{First: r.First, Last: last, Count: r.Count, Head: r.Head, FirstBlock: c.first}, nil
}

// Starts returns the manifests of a backup of the logs in the store's folder, of which ends are the ends, by the names of their files. They say
// where each log begins, and have no segments: the block files of a backup are not the whole files of the log.
func Starts(dir string, ends map[string]End) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, st := range streams {
		m, err := readManifest(dir, st.name)
		if err != nil {
			return nil, err
		}
		if f := m.startOr(ends[st.name]); f != nil {
			text, err := manifestOf(contents{First: *f, Segments: []segment{}})
			if err != nil {
				return nil, err
			}
			all[st.name+manifestEnding] = text
		}
	}
	return all, nil
}
