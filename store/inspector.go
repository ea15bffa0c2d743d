package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"ledge/store/natsblock"
)

// inspector reads the blocks of one stream in order. What cannot be read is a fault, or, at the very end, an unfinished
// write: see pending.
type inspector struct {
	log          *Log
	files        *natsblock.Files
	scan         natsblock.Scan
	parser       parser
	link         linker
	known        []Known // ascending; those that were passed are taken away
	furthest     uint64  // the highest sequence that is known of
	start        *logStart
	startUnknown bool  // where the log begins is not known: the record of it is damaged
	begun        begun // if there is no start
	progress     func(bytes int64)
	each         func(Record) error // may be nil

	report  Inspection
	due     uint64 // the sequence that comes next; 0 where any is believed
	removed uint64 // the highest sequence that a tombstone names
	marked  bool   // this log marks where groups begin: its recorded start says so, or such a record was seen

	// pending are the faults behind the last whole group. A later group was written only after these bytes were durable, so
	// when one turns up they are damage. When none does, and no checkpoint was further, the write of the last group was cut short.
	pending []Fault
	at      Inspection // as it was before the first pending fault
	behind  int        // whole events behind it
}

// Record is one whole event in a block.
type Record struct {
	Message
	Block  uint32
	Offset int64
	Raw    []byte // holds until the next one
	Starts bool   // it is the first of an appended group, and everything before it was durable when it was written
}

// inspectorIn returns the inspector of a stream in a store's folder.
func inspectorIn(dir string, st stream) *inspector {
	return newInspector(newLog(&Store{o: Options{Dir: dir}}, st))
}

func newInspector(l *Log) *inspector {
	return &inspector{
		log: l, files: l.blocks, scan: natsblock.Scan{Files: l.blocks, Prefix: l.public, Chunk: natsblock.MaxBlock}, link: linker{stream: &l.stream},
		report: Inspection{Stream: l.name}, progress: func(int64) {},
	}
}

// resume goes on behind a full block file, which it takes as the manifest has it.
func (in *inspector) resume(s segment) {
	chain, _ := chainOf(s.Chain)
	in.report.Count, in.report.First = in.report.Count+s.Last+1-s.First, cmp.Or(in.report.First, s.First)
	in.report.Last, in.report.Head, in.due = s.Last, chain, s.Last+1
	in.link = linker{stream: &in.log.stream, prev: chain, seq: s.Last, known: true}
}

// begin says which event comes first and how far the log must reach, as far as that is known.
func (in *inspector) begin() {
	if in.start == nil && in.log.forever && !in.startUnknown {
		in.start = &logStart{First: 1}
	}
	in.marked = in.start != nil && in.start.Marked
	if n := len(in.known); n > 0 {
		in.furthest = in.known[n-1].Seq
	}
}

func (in *inspector) run(ctx context.Context) error {
	in.begin()
	err := noPurge(in.log)
	if d, ok := errors.AsType[*Damage](err); ok {
		in.keep(Fault{What: d.What})
	} else if err != nil {
		return err
	}
	all, err := in.files.List()
	if err != nil {
		return err
	}
	for _, p := range in.placed(all) {
		if err := ctx.Err(); err != nil {
			return err
		}
		in.scan.As = p.was
		err := in.block(p.file)
		if in.scan.As = 0; err != nil {
			return err
		}
	}
	in.end()
	return nil
}

// place is a block file, and the number under which its records were written.
type place struct{ file, was uint32 }

// beyond is how many numbers behind the last block file are looked at for one that was renamed.
const beyond = 1000

// misplaced returns under which number the records of a block file were written, and if that is not its own, a fault.
func (in *inspector) misplaced(n uint32, all []uint32) (was uint32, f Fault) {
	if was = in.files.Origin(n, all[len(all)-1]+beyond); was != n {
		f = Fault{Seq: in.due, Block: n, What: fmt.Sprintf("%d.blk has the records of %d.blk: the file was renamed or copied", n, was)}
	}
	return was, f
}

// placed returns the block files in the order in which they were written. A file with another number than its own is a fault; if it is a copy, it
// is left out.
func (in *inspector) placed(all []uint32) (list []place) {
	for _, n := range all {
		was, f := in.misplaced(n, all)
		if was != n {
			in.keep(f)
		}
		list = append(list, place{n, was})
	}
	slices.SortStableFunc(list, func(a, b place) int {
		if a.was == b.was && a.file == a.was {
			return -1
		}
		return cmp.Compare(a.was, b.was)
	})
	return slices.CompactFunc(list, func(a, b place) bool { return a.was == b.was })
}

// block takes the records of a block one after the other.
func (in *inspector) block(n uint32) error {
	in.scan.Block, in.scan.After = n, in.before()
	end := int64(0)
	defer func() { in.progress(end) }()
	for r, err := range in.scan.Records() {
		bad, isBad := errors.AsType[*natsblock.Bad](err)
		switch {
		case isBad:
			end = bad.Offset + bad.Bytes
			in.bad(bad)
			continue
		case err != nil:
			return err
		}
		end = r.End()
		if r.IsTombstone() {
			in.removed = max(in.removed, r.Seq())
		}
		if !r.IsMessage() {
			continue
		}
		in.parser.room = in.parser.room[:0] // each message is done with before the next
		m, err := in.parser.message(r)
		if err != nil {
			in.bad(&natsblock.Bad{Block: n, Offset: r.Offset, Bytes: int64(len(r.Raw)), Unknown: true}) // its checksum holds: no crash did that
			continue
		}
		if err := in.event(Record{Message: m, Block: n, Offset: r.Offset, Raw: r.Raw, Starts: beginsGroup(r)}); err != nil {
			return err
		}
	}
	return nil
}

// before is the sequence before the one that is due; 0 if that is not known.
func (in *inspector) before() uint64 {
	if in.due == 0 && in.start != nil {
		return in.start.First - 1
	}
	return max(in.due, 1) - 1
}

// bad takes note of bytes that do not make whole records.
func (in *inspector) bad(b *natsblock.Bad) {
	if errors.Is(b, natsblock.ErrForeign) {
		in.fault(Fault{Seq: max(in.due, 1), Block: b.Block, Bytes: b.Bytes, What: fmt.Sprintf("%d.blk is compressed or encrypted, as Ledge writes none", b.Block)}, false)
		in.lose()
		return
	}
	f := Fault{Seq: in.due, Block: b.Block, Offset: b.Offset, Bytes: b.Bytes, What: "its record is altered or cut off"}
	if f.Seq == 0 && in.start != nil {
		in.starts(in.start.First)
		f.Seq = in.due
	}
	if f.Seq == 0 {
		f.Seq = max(b.Next, 2) - 1
	}
	if b.Next > f.Seq {
		f.To = b.Next - 1
	}
	if b.Cause != nil { // a crash tears a write, but leaves bytes that can be read
		f.What = fmt.Sprintf("its record cannot be read: %v", b.Cause)
	}
	torn := b.Cause == nil && !b.Unknown
	if !torn {
		in.keepPending()
	}
	in.fault(f, torn)
	in.lose()
}

// bytesFrom is how many bytes the blocks have from a fault on.
func (in *inspector) bytesFrom(f Fault) int64 {
	all, _ := in.files.List()
	sum := -f.Offset
	for _, n := range all {
		if st, err := os.Lstat(in.files.Path(n)); n >= f.Block && err == nil {
			sum += st.Size()
		}
	}
	return sum
}

// lose forgets where the chain is: the next whole event is believed.
func (in *inspector) lose() { in.link = linker{stream: &in.log.stream} }

// fault takes note of a fault. torn says that an unfinished write can be the cause. While such a fault is pending, all that come behind it are too.
func (in *inspector) fault(f Fault, torn bool) {
	if len(in.pending) == 0 {
		in.at, in.behind = in.report, 0
		if !torn {
			in.keep(f)
			return
		}
	}
	if len(in.pending) < mostFaults {
		in.pending = append(in.pending, f)
	} else {
		in.report.More++
	}
}

func (in *inspector) keep(f Fault) {
	f.Stream = in.report.Stream
	if len(in.report.Faults) < mostFaults {
		in.report.Faults = append(in.report.Faults, f)
	} else {
		in.report.More++
	}
}

// keepPending makes damage of what is pending.
func (in *inspector) keepPending() {
	for _, f := range in.pending {
		in.keep(f)
	}
	in.pending = nil
}

// event takes a record whose checksum holds.
func (in *inspector) event(r Record) error {
	m := r.Message
	if r.Starts {
		in.keepPending()
		in.marked = true
	}
	if f, ok := in.follows(r); !ok {
		f.Block, f.Offset, f.Bytes = r.Block, r.Offset, int64(len(r.Raw))
		in.keepPending()
		in.fault(f, false)
		return nil
	}
	if len(in.pending) > 0 {
		in.behind++
	}
	if in.start == nil || m.Seq >= in.start.First {
		if in.report.Count++; in.report.First == 0 {
			in.report.First = m.Seq
		}
	}
	in.report.Last, in.report.Head, in.due = m.Seq, in.link.prev, m.Seq+1
	if f, ok := in.checkpointed(); !ok {
		f.Block, f.Offset = r.Block, r.Offset
		in.fault(f, false)
	}
	if in.each != nil {
		return in.each(r)
	}
	return nil
}

// follows holds a whole record against its place in the log. Where it is not the one that belongs there it is left out.
func (in *inspector) follows(r Record) (f Fault, ok bool) {
	m := r.Message
	in.starts(m.Seq)
	if in.due > 0 && m.Seq < in.due {
		return Fault{Seq: m.Seq, What: fmt.Sprintf("it comes again, after %d", in.due-1)}, false
	}
	if in.due > 0 && m.Seq > in.due {
		if !in.covered(m.Seq) {
			in.fault(Fault{Seq: in.due, To: m.Seq - 1, Block: r.Block, Offset: r.Offset, What: "it is missing"}, in.report.Last > 0)
		}
		if r.Starts { // what is missing was durable
			in.keepPending()
		}
		in.lose()
	}
	before := in.link
	_, err := in.link.next(m)
	if err == nil {
		err = in.log.filed(m)
	}
	if err == nil && in.start != nil && in.start.chained() && m.Seq+1 == in.start.First && in.link.prev != in.start.chain() {
		err = in.log.damage(m.Seq, "its chain hash is %x, but the recorded start follows %x", in.link.prev, in.start.chain())
	}
	if err != nil {
		in.link = before
		if stored, ok := chainIn(m.Header); ok { // the next one may follow this one
			in.link.prev, in.link.seq, in.link.known = stored, m.Seq, true
		} else {
			in.lose()
		}
		in.due = m.Seq + 1
		f = Fault{Seq: m.Seq, What: err.Error()}
		if d, ok := errors.AsType[*Damage](err); ok {
			f.What = d.What
		}
		return f, false
	}
	return f, true
}

// starts compares the first event with the recorded start. What is before that is left from a move of the start that a
// crash has interrupted.
func (in *inspector) starts(seq uint64) {
	switch {
	case in.due > 0 || in.start == nil || seq < in.start.First:
	case !in.start.chained():
		in.due = in.start.First
	default:
		in.due = in.start.First
		in.link.prev, in.link.seq, in.link.known = in.start.chain(), in.start.First-1, true
	}
}

// covered reports whether the sequences up to seq are in the fault that was noted last. One that ended with its block is
// made to reach there.
func (in *inspector) covered(seq uint64) bool {
	list := in.pending
	if len(list) == 0 {
		list = in.report.Faults
	}
	if len(list) == 0 {
		return false
	}
	last := &list[len(list)-1]
	if last.To == 0 && last.Seq == in.due {
		last.To = seq - 1
	}
	return last.To+1 == seq
}

// checkpointed compares the last event with what is known of its sequence.
func (in *inspector) checkpointed() (f Fault, ok bool) {
	for len(in.known) > 0 && in.known[0].Seq <= in.report.Last {
		k := in.known[0]
		in.known = in.known[1:]
		if k.Seq == in.report.Last && k.Chain != in.report.Head && k.Chain != (Chain{}) {
			return Fault{Seq: k.Seq, What: fmt.Sprintf("its chain hash is %x, but %s at %d has %x: they are not of the same past",
				in.report.Head, k.By, k.Seq, k.Chain)}, false
		}
	}
	return f, true
}

// end decides what is pending, and compares where the log ends with who knows that it was longer.
func (in *inspector) end() {
	if len(in.pending) > 0 {
		if in.unfinished() {
			p := in.pending[0]
			in.report = in.at
			in.report.Torn = &Torn{Block: p.Block, Offset: p.Offset, Bytes: in.bytesFrom(p)}
			in.pending = nil
		}
		in.keepPending()
	}
	if in.removed > in.report.Last {
		in.report.Last, in.report.Head = in.removed, Chain{}
	}
	last := in.report.Last
	if s := in.start; s != nil && (last+1 < s.First || in.report.Count == 0 && last+1 > s.First) {
		in.keep(Fault{Seq: min(last+1, s.First), To: max(last, s.First), What: fmt.Sprintf("the log ends at %d, and its recorded start is %d", last, s.First)})
	}
	if b := in.begun; in.start == nil && b.seq > 0 && in.report.First > b.seq {
		f := Fault{Stream: in.report.Stream, Seq: b.seq, To: in.report.First - 1, What: fmt.Sprintf("it is missing: the manifest is, too, and %s has event %d", b.by, b.seq)}
		in.report.Faults = slices.Insert(in.report.Faults, 0, f)
	}
	if in.furthest > last {
		k := in.known[len(in.known)-1]
		in.keep(Fault{Seq: last + 1, To: k.Seq, What: fmt.Sprintf("the log ends at %d, but %s is at %d", last, k.By, k.Seq)})
	}
}

// unfinished reports whether the pending bytes are the end of a write without an answer: no checkpoint is that far, and
// where whole records are behind it the log is one that marks where groups begin.
func (in *inspector) unfinished() bool {
	last := max(in.at.Last, in.removed)
	return in.furthest <= last && (in.start == nil || in.start.First <= last+1) && (in.behind == 0 || in.marked) && in.bytesFrom(in.pending[0]) <= mostGroup
}
