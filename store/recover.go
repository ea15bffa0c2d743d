package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ledge/store/natsblock"
)

const (
	// mostGroup is more than a group can have written: what is torn is no longer than that.
	mostGroup = groupBytes + 2*maxPayload
	// readClean is how many bytes at the end of a log are read before the server starts after a clean stop, readUnclean after another one, at the
	// least; the rest is verified in the background.
	readClean   = 16 << 20
	readUnclean = 64 << 20
)

// recovery is what is known of the files of a log before the server opens them.
type recovery struct {
	log   *Log
	start logStart // on record
	known bool     // whether it is

	blocks  []recovered                   // those that the server will find
	scanned int                           // blocks from here on were read; those before are as the manifest says
	others  map[string]*natsblock.Subject // subjects of events of earlier versions, of the blocks that were read
	link    linker                        // at the last event
	events  uint64
	first   uint64 // the first event there is; last + 1 if there is none
	last    uint64

	gone []uint32 // whole blocks before the recorded start: a crash kept them from being removed
	torn *torn
}

// recovered is what is known of one block.
type recovered struct {
	natsblock.Block
	size     int64
	checksum [8]byte // of the last record
	good     int64   // bytes up to the first record that is not the one that is due; size if there is none
	group    int64   // where the last group begins; -1 if none does
	tomb     uint64  // the highest sequence of a tombstone
	later    later   // what is behind good
	unread   error   // why the disk cannot read a part of what is behind good
}

// later is what there is behind a record that is not as it was written.
type later struct {
	records bool // some are whole
	groups  bool // one of them begins a group: what is before it was durable
}

func (l later) or(other later) later {
	return later{l.records || other.records, l.groups || other.groups}
}

// torn is the end of a log that a crash kept from being written: nothing there was acknowledged.
type torn struct {
	block uint32
	at    int64
	after []uint32 // the blocks after it
}

// groupMark is how the fence of a group's first event begins, see [fence]; a digit follows.
const groupMark = "\r\n" + headerFence + ": 0"

// beginsGroup reports whether a record is the first of a group.
func beginsGroup(r natsblock.Record) bool {
	_, headers, _ := r.Parts()
	i := bytes.Index(headers, []byte(groupMark))
	return i >= 0 && headers[i+len(groupMark)] != '\r'
}

// recoverFiles checks a log's files before the server opens them, and leaves them so that the server has nothing to recover: it would cut off,
// or delete, what it cannot read. Damage changes nothing on the disk. What a crash left unfinished is finished: see [recovery.finish].
func recoverFiles(ctx context.Context, l *Log, checkpoints []namedCheckpoint) error {
	end := l.manifest.end()
	bound := int64(readUnclean)
	if end != nil && ends(l) == end.Bytes {
		bound = readClean
	}
	r, err := inspectFiles(ctx, l, l.manifest.segments(), bound)
	if err != nil {
		return err
	}
	l.first, l.last, l.chain = max(r.first, r.start.First), r.last, r.link.prev
	if end != nil && end.Seq > 0 {
		chain, _ := chainOf(end.Chain)
		checkpoints = append(checkpoints, namedCheckpoint{Checkpoint{end.Seq, chain}, "its end at the last clean stop"})
	}
	if n := len(l.manifest.segments()); n > 0 {
		s := l.manifest.segments()[n-1]
		chain, _ := chainOf(s.Chain)
		checkpoints = append(checkpoints, namedCheckpoint{Checkpoint{s.Last, chain}, "its manifest"})
	}
	if err := r.complete(ctx, checkpoints, !r.endsAt(end)); err != nil {
		return err
	}
	if err := describe(l); err != nil {
		return err
	}
	if err := l.blocks.SyncTail(); err != nil {
		return err
	}
	l.verified = l.first
	if r.scanned > 0 && r.scanned < len(r.blocks) {
		l.verified = max(l.first, r.blocks[r.scanned].First)
	} else if r.scanned > 0 {
		l.verified = max(l.first, r.last)
	}
	return nil
}

// recoverAgain is [recoverFiles] for a log whose end is known. It returns where the files end, which may be behind that.
func recoverAgain(ctx context.Context, l *Log) (last uint64, err error) {
	r, err := inspectFiles(ctx, l, l.manifest.segments(), 0)
	if err != nil {
		return 0, err
	}
	known, chain := l.Last()
	if err := r.complete(ctx, []namedCheckpoint{{Checkpoint{known, chain}, "the last event that was acknowledged"}}, true); err != nil {
		return 0, err
	}
	if err := l.blocks.SyncTail(); err != nil {
		return 0, &SyncError{l.name, err}
	}
	return r.last, nil
}

// complete holds the log against checkpoints, and finishes what a crash left unfinished.
func (r *recovery) complete(ctx context.Context, checkpoints []namedCheckpoint, rewrite bool) error {
	for _, w := range checkpoints {
		if err := r.agrees(ctx, w); err != nil {
			return err
		}
	}
	if err := r.finish(rewrite); err != nil {
		return err
	}
	if n := len(r.blocks); n > 0 {
		r.log.manifest.reopen(r.blocks[n-1].Number)
	}
	return nil
}

// agrees checks that the log has the event of a checkpoint.
func (r *recovery) agrees(ctx context.Context, w namedCheckpoint) error {
	l := r.log
	switch {
	case w.Seq > r.last:
		return l.damage(r.last+1, "the log lost events %d to %d that had been acknowledged: it ends at %d, but %s is at %d; nothing was changed", r.last+1, w.Seq, r.last, w.who, w.Seq)
	case r.events == 0 || w.Seq < r.first:
		if w.Seq == r.last && l.chain == (Chain{}) {
			l.chain = w.Chain // nobody else remembers it
		}
		return nil
	}
	got := l.chain
	if w.Seq < r.last {
		link, err := l.verifyFiles(ctx, w.Seq, w.Seq)
		if err != nil {
			return err
		}
		got = link.prev
	}
	if got != w.Chain {
		return l.damage(w.Seq, "its chain hash is %x, but %s at %d has %x: log and checkpoint are not of the same past; nothing was changed", got, w.who, w.Seq, w.Chain)
	}
	return nil
}

// Checkpoint is a sequence that was durable on a log, with its chain hash: the last event that a projection has applied.
type Checkpoint struct {
	Seq   uint64
	Chain [32]byte
}

// namedCheckpoint is a checkpoint with a name for messages.
type namedCheckpoint struct {
	Checkpoint
	who string
}

// checkpointsOf returns the checkpoint of the log's projection.
func checkpointsOf(l *Log) (all []namedCheckpoint) {
	if w, ok := l.store.o.Checkpoints[l.name]; ok && w.Seq > 0 {
		all = append(all, namedCheckpoint{w, "the projection's checkpoint"})
	}
	return all
}

// ends returns the size of the last block file, 0 for none.
func ends(l *Log) int64 {
	all, err := l.blocks.List()
	if err != nil || len(all) == 0 {
		return 0
	}
	st, err := os.Stat(l.blocks.Path(all[len(all)-1]))
	if err != nil {
		return 0
	}
	return st.Size()
}

// endsAt reports whether nothing was written since a clean stop.
func (r *recovery) endsAt(end *logEnd) bool {
	if end == nil || end.Seq != r.last || r.torn != nil {
		return false
	}
	return len(r.blocks) == 0 || r.blocks[len(r.blocks)-1].size == end.Bytes
}

// inspectFiles takes what is in the segments from the manifest, and reads all blocks behind them, and those that have the last bytes. Nothing is
// changed. The error is a [Damage] if a record is not as it was written and cannot be torn, or if a file is missing.
func inspectFiles(ctx context.Context, l *Log, segments []segment, bound int64) (*recovery, error) {
	if err := noPurge(l); err != nil {
		return nil, err
	}
	r := &recovery{log: l, others: map[string]*natsblock.Subject{}}
	r.start, r.known = l.manifest.start()
	all, err := r.list(segments)
	if err != nil {
		return nil, err
	}
	if n := len(segments); n > 0 && len(all) > 0 && r.isOpen(segments[n-1], all) {
		segments = segments[:n-1]
	}
	for i, s := range segments {
		if err := r.check(s, all, i); err != nil {
			return nil, err
		}
	}
	trusted := len(segments)
	for sum := ends(l); trusted > 0 && sum < bound; trusted-- {
		sum += segments[trusted-1].Bytes
	}
	for _, s := range segments[:trusted] {
		r.take(s)
	}
	r.scanned = trusted
	r.link.stream = &l.stream
	scan := &natsblock.Scan{Files: l.blocks, Prefix: l.public, Chunk: readChunk}
	for i := r.scanned; i < len(all) && r.torn == nil; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.scan(scan, all[i], all[i+1:]); err != nil {
			return nil, err
		}
	}
	return r, r.ended()
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
func (r *recovery) list(segments []segment) (all []uint32, err error) {
	files := r.log.blocks
	if all, err = files.List(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.log.name, err)
	}
	passed := func() bool {
		if len(segments) > 0 {
			return all[0] < segments[0].Block
		}
		next, err := files.First(all[1])
		return err == nil && next.IsMessage() && next.Seq() <= r.start.First
	}
	for r.known && len(all) > 1 && passed() {
		r.gone, all = append(r.gone, all[0]), all[1:]
	}
	return all, nil
}

// isOpen reports whether the last segment is the last block again, as a crash has torn all that was behind it, or has been that: the server may have
// appended to it, so it is read.
func (r *recovery) isOpen(s segment, all []uint32) bool {
	st, err := os.Stat(r.log.blocks.Path(s.Block))
	return err == nil && (s.Block == all[len(all)-1] || st.Size() > s.Bytes)
}

// check holds that a block is there as the manifest has it, without reading it.
func (r *recovery) check(s segment, all []uint32, i int) error {
	path := r.log.blocks.Path(s.Block)
	if i >= len(all) || all[i] != s.Block {
		return r.log.damage(s.First, "%s is missing, with %d to %d; nothing was changed", path, s.First, s.Last)
	}
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s: %w", r.log.name, err)
	}
	if st.Size() != s.Bytes {
		return r.log.damage(s.First, "%s has %d bytes, and had %d when it was full; nothing was changed", path, st.Size(), s.Bytes)
	}
	foreign, err := r.log.blocks.IsForeign(s.Block)
	if err != nil {
		return fmt.Errorf("%s: %w", r.log.name, err)
	}
	if foreign {
		return r.foreign(s.First, s.Block)
	}
	return nil
}

// take takes a block in as the manifest has it.
func (r *recovery) take(s segment) {
	k := recovered{size: s.Bytes, good: s.Bytes, group: -1}
	k.Block = natsblock.Block{Number: s.Block, Bytes: uint64(s.Bytes), First: s.First, Last: s.Last, FirstTime: s.At.UnixNano(), LastTime: s.At.UnixNano()}
	if n := len(r.blocks); n > 0 {
		k.FirstTime = r.blocks[n-1].LastTime
	}
	chain, _ := chainOf(s.Chain)
	r.link = linker{stream: &r.log.stream, prev: chain, seq: s.Last, known: true}
	r.add(k)
}

func (r *recovery) foreign(seq uint64, n uint32) error {
	return r.log.damage(seq, "%d.blk is compressed or encrypted, as Ledge writes none", n)
}

// due is the sequence that the next block has to begin with, 0 if any may be the first.
func (r *recovery) due() uint64 {
	switch {
	case r.events > 0:
		return r.last + 1
	case r.log.forever && !r.known:
		return 1
	}
	return 0
}

func (r *recovery) add(k recovered) {
	if k.Last > 0 {
		if r.events == 0 {
			r.first = k.First
		}
		r.last = k.Last
		r.events += k.Messages()
	}
	r.blocks = append(r.blocks, k)
}

// scan goes over a block: the records up to one that is not as it was written, or is not the one that is due, and what is behind that.
func (r *recovery) scan(scan *natsblock.Scan, n uint32, rest []uint32) error {
	due := r.due()
	var p parser
	k, err := r.block(scan, n, due, func(record natsblock.Record) error {
		r.count(record, n)
		p.room = nil
		m, err := p.message(record)
		if err != nil {
			return r.log.damage(record.Seq(), "%v; nothing was changed", err)
		}
		if !r.link.known {
			r.link = r.log.linkerAt(m.Seq)
		}
		if _, err := r.link.next(m); err != nil {
			return err
		}
		if r.start.chained() && m.Seq+1 == r.start.First && r.link.prev != r.start.chain() {
			return r.log.damage(m.Seq, "its chain hash is %x, but the recorded start follows %x; nothing was changed", r.link.prev, r.start.chain())
		}
		return r.log.filed(m)
	})
	if err != nil {
		return err
	}
	r.add(k)
	if k.good == k.size {
		return nil
	}
	return r.tears(scan, k, rest)
}

// block goes over a block whose first event is due, or any if due is 0, and calls each with every event, until one is not as it was
// written, or is not the one that is due. Behind that it looks for more.
func (r *recovery) block(scan *natsblock.Scan, n uint32, due uint64, each func(natsblock.Record) error) (recovered, error) {
	k := recovered{Block: natsblock.Block{Number: n}, group: -1}
	scan.Block, scan.After = n, max(due, 1)-1
	whole := true
	for record, err := range scan.Records() {
		bad, isBad := errors.AsType[*natsblock.Bad](err)
		switch {
		case errors.Is(err, natsblock.ErrForeign):
			return k, r.foreign(max(due, 1), n)
		case isBad:
			k.size = bad.Offset + bad.Bytes
			k.later.groups = k.later.groups || bad.Unknown
			k.unread = cmp.Or(k.unread, bad.Cause)
			whole = false
			continue
		case err != nil:
			return k, fmt.Errorf("%s: %w", r.log.name, err)
		}
		k.size = record.End()
		seq := record.Seq()
		whole = whole && (!record.IsMessage() || due == 0 || seq == due)
		switch {
		case record.IsTombstone():
			k.tomb = max(k.tomb, seq)
		case !record.IsMessage():
		case whole:
			k.event(record)
			due = seq + 1
			if err := each(record); err != nil {
				return k, err
			}
		default:
			k.later = k.later.or(later{true, beginsGroup(record)})
		}
		if whole {
			k.good, k.checksum = record.End(), record.Sum()
		}
	}
	return k, nil
}

// event takes one more event in.
func (k *recovered) event(r natsblock.Record) {
	if k.First == 0 {
		k.First, k.FirstTime = r.Seq(), r.Nanos()
	}
	k.Last, k.LastTime = r.Seq(), r.Nanos()
	k.Bytes += uint64(len(r.Raw))
	if beginsGroup(r) {
		k.group = r.Offset
	}
}

// count adds an event of an earlier version to its subject.
func (r *recovery) count(record natsblock.Record, block uint32) {
	name, _, _ := record.Parts()
	one, ok := r.others[string(name)]
	if !ok {
		one = &natsblock.Subject{Name: string(name), First: block}
		r.others[one.Name] = one
	}
	one.Total++
	one.Last = block
}

// tears decides what a record is that is not the one that is due: torn, if nothing behind it was ever durable; else it is
// damage.
func (r *recovery) tears(scan *natsblock.Scan, k recovered, rest []uint32) error {
	behind, size, unread := k.later, k.size-k.good, k.unread
	for _, n := range rest {
		next, err := r.block(scan, n, 0, func(natsblock.Record) error { return nil })
		if err != nil {
			return err
		}
		size, unread = size+next.size, cmp.Or(unread, next.unread)
		if behind = behind.or(next.later).or(later{next.Last > 0, next.group >= 0}); behind.groups || size > mostGroup {
			break
		}
	}
	marked := r.start.Marked || slices.ContainsFunc(r.blocks, func(k recovered) bool { return k.group >= 0 })
	why := ""
	switch {
	case unread != nil: // a crash tears a write, but leaves bytes that can be read
		why = fmt.Sprintf("cannot be read: %v", unread)
	case behind.groups || size > mostGroup || behind.records && !marked:
		why = "is altered or missing, and there are durable events behind it"
	}
	if why != "" {
		return r.log.damage(max(r.last, r.before())+1, "its record in %d.blk, at byte %d, %s; nothing was changed", k.Number, k.good, why)
	}
	r.torn = &torn{k.Number, k.good, rest}
	return nil
}

// before is the sequence before the first one that may be there.
func (r *recovery) before() uint64 {
	if r.known && r.start.First > 1 {
		return r.start.First - 1
	}
	return 0
}

// ended takes the end of the log in, and holds that it begins where it has to.
func (r *recovery) ended() error {
	if r.events == 0 {
		return r.endedEmpty()
	}
	switch {
	case r.known && r.first > r.start.First:
		return r.log.damage(r.start.First, "the log begins at %d, and its recorded start is %d; nothing was changed", r.first, r.start.First)
	case r.known && r.start.First > r.last+1:
		return r.log.damage(r.last+1, "the log ends at %d, and its recorded start is %d; nothing was changed", r.last, r.start.First)
	}
	return nil
}

// endedEmpty is for a log without events: a new one, or one of which retention kept none.
func (r *recovery) endedEmpty() error {
	r.link = r.log.linkerAt(r.start.First)
	for _, k := range r.blocks {
		r.last = max(r.last, k.tomb)
	}
	// Earlier versions kept no event of a log, and no other record of its end.
	if own := serverIndex(r.log); own != nil && (!r.known && !r.log.forever || r.known && own.Last < r.start.First) {
		r.last = max(r.last, own.Last)
	}
	r.first = r.last + 1
	if r.known && r.first != r.start.First {
		return r.log.damage(r.first, "the log ends at %d and has no events, and its recorded start is %d; nothing was changed", r.last, r.start.First)
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
