package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"ledge/store/natsblock"
)

const (
	// looked is how many bytes at the end of a log are verified before the server starts after a clean stop, lookedUnclean
	// after another one; the rest is verified in the background.
	looked        = 16 << 20
	lookedUnclean = 64 << 20
	// mostGroup is more than a group can have written: what is torn is no longer than that.
	mostGroup = groupBytes + 2*maxPayload
)

// errStale says that an index is not of these blocks. Another one, or none, is tried then.
var errStale = errors.New("the index is not of these blocks")

// surveyed is what is known of one block before the server opens it.
type surveyed struct {
	natsblock.Block
	size     int64
	checksum [8]byte // of the last record that is as it was written
	good     int64   // bytes up to the first record that is not the one that is due; size if there is none
	group    int64   // where the last group begins; -1 if none does
	tomb     uint64  // the highest sequence of a tombstone
	later    later   // what is behind good
	unread   error   // why the disk cannot read a part of what is behind good
}

// event takes one more event in.
func (k *surveyed) event(r natsblock.Record) {
	if k.First == 0 {
		k.First, k.FirstTime = r.Seq(), r.Nanos()
	}
	k.Last, k.LastTime = r.Seq(), r.Nanos()
	k.Bytes += uint64(len(r.Raw))
	if beginsGroup(r) {
		k.group = r.Offset
	}
}

// later is what there is behind a record that is not as it was written.
type later struct {
	records bool // some are whole
	groups  bool // one of them begins a group: what is before it was durable
}

func (l later) or(other later) later {
	return later{l.records || other.records, l.groups || other.groups}
}

// groupMark is how the fence of a group's first event begins, see [fence]; a digit follows.
const groupMark = "\r\n" + headerFence + ": 0"

// beginsGroup reports whether a record is the first of a group.
func beginsGroup(r natsblock.Record) bool {
	_, headers, _ := r.Parts()
	i := bytes.Index(headers, []byte(groupMark))
	return i >= 0 && headers[i+len(groupMark)] != '\r'
}

// survey is what is known of the blocks of a log before the server starts.
type survey struct {
	log   *Log
	start logStart // on record
	known bool     // whether it is
	base  *natsblock.Index

	own *natsblock.Index // what the server has now, nil for none

	blocks   []surveyed                    // those that the server will find
	subjects map[string]*natsblock.Subject // of the events that the index does not know
	events   uint64
	first    uint64 // the first event there is; last + 1 where there is none
	last     uint64
	deep     int // blocks from here on were gone over

	gone []uint32 // whole blocks before the recorded start: a crash kept them from being removed
	torn *torn
}

// torn is the end of a log that a crash kept from being written: nothing there was acknowledged.
type torn struct {
	block uint32
	at    int64
	after []uint32 // the blocks after it
}

// survey goes over the blocks that an index does not know, and over those that have the last bytes. Nothing is changed. The
// error is a [Damage], or errStale.
func (l *Log) survey(base *natsblock.Index, bound int64) (*survey, error) {
	s := &survey{log: l, base: base, subjects: map[string]*natsblock.Subject{}}
	s.start, s.known = l.store.starts.of(l.name)
	all, sizes, err := s.list()
	if err != nil {
		return nil, err
	}
	if base != nil {
		if err := s.fits(all, sizes); err != nil {
			return nil, err
		}
	}
	s.deep = len(all)
	for sum := int64(0); s.deep > 0 && sum < bound; s.deep-- {
		sum += sizes[s.deep-1]
	}
	scan := &natsblock.Scan{Files: l.blocks, Prefix: l.public, Chunk: readChunk}
	for i, n := range all {
		if s.trusts(i, sizes[i]) {
			if err := s.trust(base.Blocks[i], sizes[i]); err != nil {
				return nil, err
			}
			continue
		}
		ended, err := s.scan(scan, n, all[i+1:])
		if err != nil {
			return nil, err
		}
		if ended {
			break
		}
	}
	return s, s.ended()
}

// list returns the blocks and their sizes, but those that the start has passed.
func (s *survey) list() (all []uint32, sizes []int64, err error) {
	b := s.log.blocks
	if all, err = b.List(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.log.name, err)
	}
	for s.known && len(all) > 1 {
		if next, err := b.First(all[1]); err != nil || !next.IsMessage() || next.Seq() > s.start.First {
			break
		}
		s.gone, all = append(s.gone, all[0]), all[1:]
	}
	for _, n := range all {
		st, err := os.Stat(b.Path(n))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.log.name, err)
		}
		sizes = append(sizes, st.Size())
	}
	return all, sizes, nil
}

// fits holds that an index is of these blocks, or of the first ones of them; blocks that left the start since do not count.
func (s *survey) fits(all []uint32, sizes []int64) error {
	if len(all) == 0 {
		return errStale
	}
	s.base.Blocks = slices.DeleteFunc(slices.Clone(s.base.Blocks), func(k natsblock.Block) bool { return k.Number < all[0] })
	known := s.base.Blocks
	if len(known) == 0 || len(known) > len(all) || known[len(known)-1].Number != s.base.LastBlock {
		return errStale
	}
	for i, k := range known {
		if k.Number != all[i] || uint64(sizes[i]) < k.Bytes {
			return errStale
		}
	}
	return nil
}

// trusts reports whether the index tells what is in a block: not of the last that it knows, which may have grown, nor of
// one of another size. The first may be larger: earlier versions removed messages from it.
func (s *survey) trusts(i int, size int64) bool {
	if s.base == nil || i >= s.deep || i >= len(s.base.Blocks)-1 {
		return false
	}
	return i == 0 || uint64(size) == s.base.Blocks[i].Bytes
}

func (s *survey) trust(k natsblock.Block, size int64) error {
	if due := s.due(); due > 0 && k.First != due {
		return errStale
	}
	s.add(surveyed{Block: k, size: size, good: size, group: -1})
	return nil
}

// due is the sequence that the next block has to begin with, 0 where any may be the first.
func (s *survey) due() uint64 {
	switch {
	case s.events > 0:
		return s.last + 1
	case s.log.forever && !s.known:
		return 1
	}
	return 0
}

func (s *survey) add(k surveyed) {
	if k.Last > 0 {
		if s.events == 0 {
			s.first = k.First
		}
		s.last = k.Last
		s.events += k.Messages()
	}
	s.blocks = append(s.blocks, k)
}

// scan goes over a block. It is ended where the log has a torn end there.
func (s *survey) scan(scan *natsblock.Scan, n uint32, rest []uint32) (ended bool, err error) {
	base, due := s.base, s.due()
	isBaseLast, found := base != nil && n == base.LastBlock, false
	k, err := s.block(scan, n, due, func(r natsblock.Record) {
		if base != nil && r.Seq() <= base.Last {
			if isBaseLast && r.Seq() == base.Last {
				found = r.Sum() == base.Checksum
			}
			return
		}
		s.count(r, n)
	})
	if err != nil {
		return false, err
	}
	if isBaseLast && !found && base.Messages > 0 && base.Blocks[len(base.Blocks)-1].Bytes > 0 {
		return false, errStale // it knows of events that are not there
	}
	s.add(k)
	if k.good == k.size {
		return false, nil
	}
	return true, s.tears(scan, k, rest)
}

// block goes over a block whose first event is due, or any if due is 0, and calls each with every event, until one is not as it was
// written, or is not the one that is due. Behind that it looks for more.
func (s *survey) block(scan *natsblock.Scan, n uint32, due uint64, each func(natsblock.Record)) (surveyed, error) {
	k := surveyed{Block: natsblock.Block{Number: n}, group: -1}
	scan.Block, scan.After = n, max(due, 1)-1
	whole := true
	for r, err := range scan.Records() {
		bad, isBad := errors.AsType[*natsblock.Bad](err)
		switch {
		case errors.Is(err, natsblock.ErrForeign):
			return k, s.log.damage(max(due, 1), "%d.blk is compressed or encrypted, as Ledge writes none", n)
		case isBad:
			k.size = bad.Offset + bad.Bytes
			k.later.groups = k.later.groups || bad.Unknown
			k.unread = cmp.Or(k.unread, bad.Cause)
			whole = false
			continue
		case err != nil:
			return k, fmt.Errorf("%s: %w", s.log.name, err)
		}
		k.size = r.End()
		seq := r.Seq()
		whole = whole && (!r.IsMessage() || due == 0 || seq == due)
		switch {
		case r.IsTombstone():
			k.tomb = max(k.tomb, seq)
		case !r.IsMessage():
		case whole:
			k.event(r)
			each(r)
			due = seq + 1
		default:
			k.later = k.later.or(later{true, beginsGroup(r)})
		}
		if whole {
			k.good, k.checksum = r.End(), r.Sum()
		}
	}
	return k, nil
}

// count adds an event to its subject.
func (s *survey) count(r natsblock.Record, block uint32) {
	name, _, _ := r.Parts()
	one, ok := s.subjects[string(name)]
	if !ok {
		one = &natsblock.Subject{Name: string(name), First: block}
		s.subjects[one.Name] = one
	}
	one.Total++
	one.Last = block
}

// tears decides what a record is that is not the one that is due: torn, if nothing behind it was ever durable; else it is
// damage.
func (s *survey) tears(scan *natsblock.Scan, k surveyed, rest []uint32) error {
	behind, size, unread := k.later, k.size-k.good, k.unread
	for _, n := range rest {
		next, err := s.block(scan, n, 0, func(natsblock.Record) {})
		if err != nil {
			return err
		}
		size, unread = size+next.size, cmp.Or(unread, next.unread)
		if behind = behind.or(next.later).or(later{next.Last > 0, next.group >= 0}); behind.groups || size > mostGroup {
			break
		}
	}
	marked := s.start.Marked || slices.ContainsFunc(s.blocks, func(k surveyed) bool { return k.group >= 0 })
	why := ""
	switch {
	case unread != nil: // a crash tears a write, but leaves bytes that can be read
		why = fmt.Sprintf("cannot be read: %v", unread)
	case behind.groups || size > mostGroup || behind.records && !marked:
		why = "is altered or missing, and there are durable events behind it"
	}
	if why != "" {
		return s.log.damage(max(s.last, s.before())+1, "its record in %d.blk, at byte %d, %s; nothing was changed", k.Number, k.good, why)
	}
	s.torn = &torn{k.Number, k.good, rest}
	return nil
}

// before is the sequence before the first one that may be there.
func (s *survey) before() uint64 {
	if s.known && s.start.First > 1 {
		return s.start.First - 1
	}
	return 0
}

// ended takes the end of the log in, and holds that it begins where it has to.
func (s *survey) ended() error {
	if s.base != nil && s.torn != nil && s.last < s.base.Last {
		return errStale
	}
	if s.events == 0 {
		return s.endedEmpty()
	}
	switch {
	case s.known && s.first > s.start.First:
		return s.log.damage(s.start.First, "the log begins at %d, and its recorded start is %d; nothing was changed", s.first, s.start.First)
	case s.known && s.start.First > s.last+1:
		return s.log.damage(s.last+1, "the log ends at %d, and its recorded start is %d; nothing was changed", s.last, s.start.First)
	}
	return nil
}

// endedEmpty is for a log without events: a new one, or one of which an earlier version of Ledge kept none.
func (s *survey) endedEmpty() error {
	for _, k := range s.blocks {
		s.last = max(s.last, k.tomb)
	}
	if s.base != nil {
		// After a write that failed the server counts an event that no block has.
		if s.known && s.base.Last >= s.start.First || !s.known && s.log.forever && s.base.Last > 0 {
			return errStale
		}
		s.last = max(s.last, s.base.Last)
	}
	s.first = s.last + 1
	if s.known && s.first != s.start.First {
		return s.log.damage(s.first, "the log ends at %d and has no events, and its recorded start is %d; nothing was changed", s.last, s.start.First)
	}
	return nil
}

// index returns what the server has to find, but the subjects.
func (s *survey) index() *natsblock.Index {
	x := &natsblock.Index{Messages: s.events, First: s.first, Last: s.last}
	if s.last == 0 {
		x.First = 0
	}
	for _, k := range s.blocks {
		b := k.Block
		if b.Last == 0 { // empty
			b.First, b.Last, b.LastTime = s.last+1, s.last, x.LastTime
		} else {
			if x.FirstTime == 0 {
				x.FirstTime = b.FirstTime
			}
			x.LastTime = b.LastTime
		}
		x.Bytes += b.Bytes
		x.Blocks = append(x.Blocks, b)
		x.LastBlock, x.Checksum = k.Number, k.checksum
	}
	return x
}

// addSubjects counts what the index knew and what was found behind it. Of blocks that left the start since, the messages stay
// counted: nothing rests on these numbers, and the server takes them for hints.
func (s *survey) addSubjects(x *natsblock.Index) {
	lowest := x.Blocks[0].Number
	add := func(one natsblock.Subject) {
		if one.Last >= lowest {
			one.First = max(one.First, lowest)
			x.Subjects = append(x.Subjects, one)
		}
	}
	if s.base != nil {
		for _, one := range s.base.Subjects {
			if more, ok := s.subjects[one.Name]; ok {
				one.Total, one.Last = one.Total+more.Total, more.Last
				delete(s.subjects, one.Name)
			}
			add(one)
		}
	}
	for _, one := range s.subjects {
		add(*one)
	}
}
