package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"ledge/store/natsblock"
)

const (
	// mostGroup is more than a group can have written: what is torn is no longer than that.
	mostGroup = groupBytes + 2*maxPayload
	// readAtStart is how many bytes at the end of a log are read before the server starts, at the least; the rest is verified in the background.
	readAtStart = 16 << 20
)

// recovery is what is known of the files of a log before the server opens them.
type recovery struct {
	log     *Log
	blocks  []recovered // those that the server will find
	scanned int         // blocks from here on were read; those before are as the manifest says
	grown   uint32      // a block that has grown since it was put on record as full; 0 for none
	clean   bool        // nothing was written since a clean stop

	events uint64 // in the blocks
	first  uint64 // the first of them; last + 1 if there is none
	last   uint64
	head   Chain // of last

	gone  []uint32 // whole blocks before the recorded start: a crash kept them from being removed
	torn  *Torn
	after []uint32 // the blocks after the torn one, which are part of it
}

// recovered is what is known of one block.
type recovered struct {
	natsblock.Block
	size  int64 // of the file
	group int64 // where the last group begins; -1 if none does
}

// FollowsBy names who remembers [Options.Follows].
const FollowsBy = "the position of notifications and callbacks"

// prepare recovers a log before the server starts.
func prepare(ctx context.Context, l *Log) error {
	var known []Known
	if c := l.store.o.Checkpoints[l.name]; c.Seq > 0 {
		known = append(known, Known{"the projection's checkpoint", c.Seq, c.Chain})
	}
	if seq := l.store.o.Follows; seq > 0 && l.forever {
		known = append(known, Known{FollowsBy, seq, Chain{}})
	}
	r, err := recoverFiles(ctx, l, false, known...)
	if err != nil {
		return err
	}
	start, _ := l.manifest.start()
	l.first, l.last, l.chain = max(r.first, start.First), r.last, r.head
	l.verified = l.first
	if r.scanned > 0 {
		l.verified = max(l.first, min(r.blocks[r.scanned-1].Last+1, r.last))
	}
	return nil
}

// recoverFiles checks a log's files while no server has them, and leaves them so that the server has nothing to recover: it would cut off, or
// delete, what it cannot read. Damage changes nothing on the disk. A log is damaged too if it lacks an event that is known. What a crash left
// unfinished is finished. Of a log that runs, only what is behind the full block files is read.
func recoverFiles(ctx context.Context, l *Log, runs bool, known ...Known) (*recovery, error) {
	r, err := inspectFiles(ctx, l, l.manifest.segments(), runs)
	if err != nil {
		return nil, err
	}
	recorded := l.manifest.witnesses()
	for _, k := range append(known, recorded[max(len(recorded)-2, 0):]...) { // the last full block file, and the last clean stop
		if err := r.agrees(k); err != nil {
			return nil, err
		}
	}
	for _, step := range []func() error{r.dropGone, r.cut, r.renewTail, r.writeIndex, r.describe} {
		if err := step(); err != nil { // or a crash: the next start does it again
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
	}
	if err := l.blocks.SyncTail(); err != nil {
		return nil, l.syncError(err)
	}
	if n := len(r.blocks); n > 0 {
		l.manifest.reopen(min(r.blocks[n-1].Number, cmp.Or(r.grown, math.MaxUint32)))
	}
	return r, nil
}

// inspectFiles takes what is in the segments from the manifest, and reads all blocks behind them, and those that have the last bytes. Nothing is
// changed. The error is a [Damage] if a record is not as it was written and cannot be torn, or if a file is missing: an [inspector] decides that,
// so that a start and `ledge verify` agree.
func inspectFiles(ctx context.Context, l *Log, segments []segment, runs bool) (*recovery, error) {
	if err := noPurge(l); err != nil {
		return nil, err
	}
	r := &recovery{log: l}
	files, err := r.list(segments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	bound, end := int64(readAtStart), l.manifest.end()
	if runs {
		bound = 0
	}
	r.clean = end != nil && end.Bytes == sizeOfLast(files) && !runs
	trusted, err := r.trust(segments, files, bound)
	if err != nil {
		return nil, err
	}
	in := newInspector(l)
	if in.scan.Chunk, in.start = readChunk, l.manifest.known(); in.start == nil {
		in.begun = begunBy(l, l.store.o.Checkpoints[l.name].First)
	}
	in.begin()
	for i, s := range trusted {
		files[i].take(s)
		in.resume(s)
	}
	r.blocks, r.scanned = files[:len(trusted)], len(trusted)
	in.each = func(e Record) error {
		if len(in.pending) == 0 {
			r.blocks[len(r.blocks)-1].event(e)
		}
		return nil
	}
	for _, k := range files[r.scanned:] {
		if len(in.pending) == 0 {
			r.blocks = append(r.blocks, k)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if was, f := in.misplaced(k.Number, numbers(files)); was != k.Number {
			in.keepPending()
			in.keep(f)
			break
		}
		if err := in.block(k.Number); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		if len(in.report.Faults) > 0 {
			break
		}
	}
	err = r.ended(in, files)
	r.clean = r.clean && r.torn == nil && r.last == end.Seq
	return r, err
}

// noPurge refuses a folder in which the server left a purge unfinished: it would replace all blocks. Ledge asks for none.
func noPurge(l *Log) error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(l.blocks.Dir), "__msgs__", "*.blk"))
	if err != nil || len(left) == 0 {
		return err
	}
	return l.damage(0, "%s is there: the server would put it in the place of the log; nothing was changed", left[0])
}

// list returns the blocks but those that the start has passed.
func (r *recovery) list(segments []segment) (files []recovered, err error) {
	blocks := r.log.blocks
	all, err := blocks.List()
	start, known := r.log.manifest.start()
	passed := func() bool {
		if len(segments) > 0 {
			return all[0] < segments[0].Block
		}
		next, err := blocks.First(all[1])
		return err == nil && next.IsMessage() && next.Seq() <= start.First
	}
	for known && len(all) > 1 && passed() {
		r.gone, all = append(r.gone, all[0]), all[1:]
	}
	for _, n := range all {
		st, err := os.Lstat(blocks.Path(n))
		if err != nil {
			return nil, err
		}
		files = append(files, recovered{natsblock.Block{Number: n}, st.Size(), -1})
	}
	return files, err
}

// trust returns the segments that need not be read. Each must be there with its size. The last one is read if it is the last block again, as a
// crash has torn all that was behind it, or has grown since: the server may have appended to it.
func (r *recovery) trust(segments []segment, files []recovered, bound int64) ([]segment, error) {
	if n := len(segments); n > 0 && n <= len(files) && files[n-1].Number == segments[n-1].Block && (n == len(files) || files[n-1].size > segments[n-1].Bytes) {
		segments, r.grown = segments[:n-1], segments[n-1].Block
	}
	for i, s := range segments {
		path := r.log.blocks.Path(s.Block)
		if i >= len(files) || files[i].Number != s.Block {
			return nil, r.log.damage(s.First, "%s is missing, with %d to %d; nothing was changed", path, s.First, s.Last)
		}
		if files[i].size != s.Bytes {
			return nil, r.log.damage(s.First, "%s has %d bytes, and had %d when it was full; nothing was changed", path, files[i].size, s.Bytes)
		}
	}
	for n, sum := len(segments), sizeOfLast(files); n > 0 && sum < bound; n-- {
		sum, segments = sum+segments[n-1].Bytes, segments[:n-1]
	}
	return segments, nil
}

func numbers(files []recovered) (list []uint32) {
	for _, k := range files {
		list = append(list, k.Number)
	}
	return list
}

func sizeOfLast(files []recovered) int64 {
	if len(files) == 0 {
		return 0
	}
	return files[len(files)-1].size
}

// take takes a block in as the manifest has it.
func (k *recovered) take(s segment) {
	at := s.At.UnixNano()
	k.Block = natsblock.Block{Number: s.Block, Bytes: uint64(s.Bytes), First: s.First, Last: s.Last, FirstTime: at, LastTime: at}
}

// event takes one more event in.
func (k *recovered) event(e Record) {
	if k.First == 0 {
		k.First, k.FirstTime = e.Seq, e.At.UnixNano()
	}
	k.Last, k.LastTime = e.Seq, e.At.UnixNano()
	k.Bytes += uint64(len(e.Raw))
	if e.Starts {
		k.group = e.Offset
	}
}

// ended takes in what the inspector has found.
func (r *recovery) ended(in *inspector, files []recovered) error {
	for _, k := range r.blocks {
		if k.Last > 0 && r.events == 0 {
			r.first = k.First
		}
		if k.Last > 0 {
			r.events += k.Messages()
		}
	}
	start, known := r.log.manifest.start()
	// Earlier versions could remove every event. Then only the index of the server has the last sequence.
	if own := serverIndex(r.log); r.events == 0 && own != nil && (!known && !r.log.forever || known && own.Last < start.First) {
		in.removed = max(in.removed, own.Last)
	}
	in.end()
	if len(in.report.Faults) > 0 {
		f := in.report.Faults[0]
		return r.log.damage(f.Seq, "%s%s; nothing was changed", f.What, f.place())
	}
	r.last, r.head, r.torn = in.report.Last, in.report.Head, in.report.Torn
	if r.events == 0 {
		r.first, r.head = r.last+1, r.log.linkerAt(start.First).prev
	}
	for _, k := range files {
		if r.torn != nil && k.Number > r.torn.Block {
			r.after = append(r.after, k.Number)
		}
	}
	return nil
}

// agrees checks that the log has an event that is known.
func (r *recovery) agrees(w Known) error {
	l := r.log
	switch {
	case w.Seq > r.last:
		return l.damage(r.last+1, "the log lost events %d to %d that had been acknowledged: it ends at %d, but %s is at %d; nothing was changed", r.last+1, w.Seq, r.last, w.By, w.Seq)
	case r.events == 0 || w.Seq < r.first:
		if w.Seq == r.last && r.head == (Chain{}) {
			r.head = w.Chain // nobody else remembers it
		}
		return nil
	}
	if w.Chain == (Chain{}) {
		return nil
	}
	got := r.head
	if w.Seq < r.last {
		m, err := l.stored(w.Seq)
		if err != nil {
			return l.unread(w.Seq, err)
		}
		link := l.linkerAt(w.Seq)
		if _, err := link.next(m); err != nil {
			return err
		}
		got = link.prev
	}
	if got != w.Chain {
		return l.damage(w.Seq, "its chain hash is %x, but %s at %d has %x: log and checkpoint are not of the same past; nothing was changed", got, w.By, w.Seq, w.Chain)
	}
	return nil
}

// linkerAt begins at a sequence: with the chain on record at the start of the log, elsewhere believing the first event.
func (l *logFiles) linkerAt(from uint64) linker {
	k := linker{stream: &l.stream}
	if f, ok := l.manifest.start(); ok && f.First == from && from > 1 && f.Chain != "" {
		k.prev, k.seq, k.known = f.chain(), from-1, true
	}
	return k
}
