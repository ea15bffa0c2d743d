package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"

	"ledge/domain"
)

const (
	pageEvents = 1024
	pageBytes  = 4 << 20
	// fewEvents are decoded before another goroutine could have begun.
	fewEvents = 64
)

// logReader reads the events of a log by sequence and by time, from its files and from archives.
type logReader struct {
	logFiles
	// archives has what left the log's start; nil if nothing of it is archived. skipGap, if it is not nil, is told of a missing archive, and
	// the events in it are left out; else that is an error.
	archives *Archives
	skipGap  func(*Gap)
	// snapshots are those that can be used, the newest first.
	snapshots []*Snapshot
	skipped   skipped
}

// SkipGaps makes reads call f for each archive that is missing or damaged and continue behind it. Without it, a read ends there.
func (l *logReader) SkipGaps(f func(*Gap)) { l.skipGap = f }

// page is some messages in a row, or the error that ends the reading.
type page struct {
	messages []Message
	err      error
}

// ReadRaw returns the stored messages from one sequence to another, both included, in order and without a hole. From 0
// is the first on the log itself, to 0 the last durable. What was moved to archives is read from there, and ends with a
// [Gap] where an archive is missing. The chain of the log is not verified; see [Log.Read].
func (l *logReader) ReadRaw(ctx context.Context, from, to uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		for p := range l.pages(ctx, from, to) {
			for _, m := range p.messages {
				if !yield(m, nil) {
					return
				}
			}
			if p.err != nil {
				yield(Message{}, p.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Message{}, err)
		}
	}
}

// pages reads in a goroutine of its own, ahead of the reader, until ctx ends.
func (l *logReader) pages(ctx context.Context, from, to uint64) <-chan page {
	out := make(chan page, 1)
	if last, _ := l.Last(); to == 0 || to > last {
		to = last
	}
	go func() {
		defer close(out)
		send := func(p page) bool {
			select {
			case out <- p:
				return true
			case <-ctx.Done():
				return false
			}
		}
		for p := (page{}); p.err == nil && ctx.Err() == nil; {
			if from, p.err = l.fromArchives(ctx, from, to, send); p.err == nil {
				from, p.err = l.fromBlocks(ctx, from, to, send)
			}
			if errors.Is(p.err, errMoved) {
				p.err = nil // the rest is archived meanwhile
				continue
			}
			if p.err != nil && !errors.Is(p.err, context.Canceled) {
				send(p)
			}
			return
		}
	}()
	return out
}

// errMoved says that events were moved to an archive while they were read.
var errMoved = errors.New("the start of the log moved")

// archived sends the pages that are archived, and returns the first sequence that is on the log itself.
func (l *logReader) fromArchives(ctx context.Context, from, to uint64, send func(page) bool) (next uint64, err error) {
	first := l.First()
	if from == 0 || from >= first || l.archives == nil {
		return max(from, first), nil
	}
	end := min(to, first-1)
	return end + 1, l.archives.read(ctx, from, end, l.skipGap, send)
}

// live sends the pages from the block files, and returns where to go on. Events that retention removes meanwhile are left out; the error is
// errMoved if they are moved to an archive meanwhile. The start of a log moves before its blocks go: what is missing behind it is damage.
func (l *logReader) fromBlocks(ctx context.Context, from, to uint64, send func(page) bool) (next uint64, err error) {
	for from <= to {
		b := l.blockReader(from, to, readChunk)
		failed := b.read(ctx, send)
		if from = b.next; from > to || ctx.Err() != nil || errors.Is(failed, context.Canceled) {
			return from, cmp.Or(failed, ctx.Err())
		}
		first, err := l.askFirst(ctx)
		switch {
		case err != nil:
			return from, fmt.Errorf("read %s at %d: %w", l.name, from, err)
		case from < first && l.forever:
			return from, errMoved
		case from < first:
			from = first
		case errors.Is(failed, fs.ErrNotExist): // a block that was listed is gone: look again
		default:
			return from, l.unread(from, failed)
		}
	}
	return from, nil
}

// Read returns the events from one sequence to another, both included, in order. From 0 is the first on the log itself,
// to 0 the last durable. It ends with a [Damage] error at a sequence that is missing, altered, or not linked to the one
// before, and with a [Gap] where an archive is missing. The first event of a stream with a retention is believed.
func (l *logReader) Read(ctx context.Context, from, to uint64) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		for group, err := range l.groups(ctx, from, to) {
			for _, r := range group {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(domain.Recorded{}, err)
				return
			}
		}
	}
}

// EventAt is [Log.RecordedAt] without what is recorded beside the event.
func (l *logReader) EventAt(ctx context.Context, seq uint64) (domain.Event, bool, error) {
	r, ok, err := l.RecordedAt(ctx, seq)
	return r.Event, ok, err
}

// RecordedAt returns what is recorded at a sequence, verified as by [Log.Read]; ok is false where there is nothing, or nothing any more.
// The first read from a block file goes over it up to the event, which takes a millisecond or two; the next ones begin near the event.
// Apart from the event, the memory is bounded by
// two chunks of [oneChunk] bytes.
func (l *logReader) RecordedAt(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error) {
	if last, _ := l.Last(); seq == 0 || seq > last || seq < l.First() {
		return r, false, nil
	}
	found := page{messages: l.readNear(ctx, max(seq-1, 1), seq)} // the event before it verifies its chain hash
	if d := l.decodePage(&linker{stream: &l.stream}, found, seq); d.err == nil && len(d.events) == 1 {
		return d.events[0], true, nil
	}
	l.offsets.forget()
	for r, err := range l.Read(ctx, seq, seq) {
		return r, err == nil, err
	}
	return r, false, ctx.Err()
}

// MessageAt returns the message at a sequence as [Log.ReadRaw] does; ok is false if there is nothing, or nothing any more. It costs as
// much as RecordedAt.
func (l *Log) MessageAt(ctx context.Context, seq uint64) (m Message, ok bool, err error) {
	if last, _ := l.Last(); seq == 0 || seq > last || seq < l.First() {
		return m, false, nil
	}
	found := l.readNear(ctx, seq, seq)
	if len(found) == 1 && found[0].Seq == seq {
		return found[0], true, nil
	}
	l.offsets.forget()
	m, err = l.one(ctx, seq)
	return m, err == nil && m.Seq == seq, err
}

type decoded struct {
	events []domain.Recorded
	err    error
}

// groups is Read in slices: fetching, decoding with hashing, and the reader's own work run beside one another.
func (l *logReader) groups(ctx context.Context, from, to uint64) iter.Seq2[[]domain.Recorded, error] {
	return func(yield func([]domain.Recorded, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		out := make(chan decoded, 1)
		go l.decode(ctx, from, to, out)
		for d := range out {
			if len(d.events) > 0 && !yield(d.events, nil) {
				return
			}
			if d.err != nil {
				yield(nil, d.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func (l *logReader) decode(ctx context.Context, from, to uint64, out chan<- decoded) {
	defer close(out)
	link, start := l.linkFrom(from)
	for p := range l.pages(ctx, start, to) {
		d := l.decodePage(&link, p, from)
		select {
		case out <- d:
		case <-ctx.Done():
			return
		}
		if d.err != nil {
			return
		}
	}
}

// decodePage verifies the chain from message to message, and decodes the events beside one another. What follows the
// first fault is left out.
func (l *logReader) decodePage(link *linker, p page, from uint64) decoded {
	d := decoded{events: make([]domain.Recorded, 0, len(p.messages)), err: p.err}
	var due []Message
	for i, m := range p.messages {
		r, err := link.next(m)
		if err != nil {
			d.err = err
			break
		}
		if m.Seq < from {
			continue
		}
		if due == nil {
			due = p.messages[i:]
		}
		d.events = append(d.events, r)
	}
	n, err := l.events(due[:len(d.events)], d.events)
	if err != nil {
		d.events, d.err = d.events[:n], err
	}
	return d
}

// events decodes messages into as many events, in equal parts on all processors, the last part in this goroutine. It returns how many come
// before the first fault, and that fault.
func (l *logReader) events(messages []Message, events []domain.Recorded) (n int, err error) {
	parts := min(runtime.GOMAXPROCS(0), 1+len(messages)/fewEvents)
	ends, faults := make([]int, parts), make([]error, parts)
	decodePart := func(part int) {
		end := (part + 1) * len(messages) / parts
		for i := part * len(messages) / parts; i < end && faults[part] == nil; i++ {
			if events[i].Event, faults[part] = l.event(messages[i]); faults[part] != nil {
				ends[part] = i
			}
		}
	}
	var all sync.WaitGroup
	for part := range parts - 1 {
		all.Go(func() { decodePart(part) })
	}
	decodePart(parts - 1)
	all.Wait()
	for part, err := range faults {
		if err != nil {
			return ends[part], err
		}
	}
	return len(messages), nil
}

// event decodes a message. One whose body cannot be decoded is a domain.Undecodable, and is noted.
func (l *logReader) event(m Message) (domain.Event, error) {
	if err := l.filed(m); err != nil {
		return nil, err
	}
	e, err := domain.DecodeStored(wireOf(m.Header, m.Data))
	if err != nil {
		return nil, fmt.Errorf("%s: sequence %d: %w", l.name, m.Seq, err)
	}
	if u, ok := e.(domain.Undecodable); ok {
		l.skip(m.Seq, u)
	}
	return e, nil
}

// OlderThan returns the sequence behind the last event that was stored before a time: all events before it are older, whatever the clock said
// when they were stored. If a clock that was wrong has stored events in the future, they go with those behind them. It reads one block file.
func (l *logReader) OlderThan(ctx context.Context, t time.Time) (uint64, error) {
	behind := max(l.First(), 1)
	last, _ := l.Last()
	for _, s := range slices.Backward(l.manifest.segments()) {
		if s.At.Before(t) {
			behind = max(behind, s.Last+1)
			break
		}
		last = s.Last
	}
	if behind > last {
		return behind, nil
	}
	for m, err := range l.ReadRaw(ctx, behind, last) {
		if err != nil {
			return 0, err
		}
		if m.At.Before(t) {
			behind = m.Seq + 1
		}
	}
	return behind, nil
}

// Since returns the first sequence whose event was stored at a time or later; where there is none, the one after the last.
// It looks at few events, as a search does. If the clock was set back, there are several such places, and it returns one of them.
func (l *logReader) Since(ctx context.Context, t time.Time) (uint64, error) {
	from := max(l.First(), 1)
	last, _ := l.Last()
	to := last + 1
	from, to = l.around(t, from, to)
	for from < to {
		middle := from + (to-from)/2
		m, err := l.one(ctx, middle)
		if err != nil {
			return 0, err
		}
		if m.Seq < middle || m.At.Before(t) { // or retention has removed it meanwhile
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, nil
}

// around narrows the sequences from one to another, among which the first of a time is looked for, to those of one block
// file: for each message that is looked at, half of its block is read.
func (l *logReader) around(t time.Time, from, to uint64) (uint64, uint64) {
	for _, s := range l.manifest.segments() {
		if !s.At.Before(t) {
			return from, min(to, s.Last)
		}
		from = max(from, s.Last+1)
	}
	return min(from, to), to
}

// one reads one message; where retention has removed it, it returns none.
func (l *logReader) one(ctx context.Context, seq uint64) (found Message, err error) {
	for m, err := range l.ReadRaw(ctx, seq, seq) {
		return m, err
	}
	return found, ctx.Err()
}

// Begin is Since for all of the history: where everything on the log is from that time or later, it looks in the archives.
// Events that are archived and cannot be read count as older.
func (l *logReader) Begin(ctx context.Context, t time.Time) (uint64, error) {
	seq, err := l.Since(ctx, t)
	if err != nil || l.archives == nil || seq > l.First() {
		return seq, err
	}
	list, err := l.archives.List()
	if err != nil || len(list) == 0 {
		return seq, err
	}
	i := sort.Search(len(list), func(i int) bool {
		r, err := openArchive(l, filepath.Join(l.archives.dir, list[i].File))
		if err != nil {
			return false
		}
		defer r.close()
		return !r.header.From.Before(t)
	})
	return list[max(i, 1)-1].First, ctx.Err()
}

// Skipped is an event that is as it was written, but whose body cannot be decoded. The state is folded without it.
type Skipped struct {
	Seq    uint64
	Type   string
	Reason string
}

func (s Skipped) String() string { return fmt.Sprintf("%d %s (%s)", s.Seq, s.Type, s.Reason) }

// maxSkipped is how many such events of a log are remembered, named and counted. Of more, the first are.
const maxSkipped = 1000

// skipped are those that were read since the start.
type skipped struct {
	mu  sync.Mutex
	all []Skipped
}

// skip notes an event, and names it in the program's log the first time that it is read.
func (l *logReader) skip(seq uint64, u domain.Undecodable) {
	l.skipped.mu.Lock()
	defer l.skipped.mu.Unlock()
	known := slices.ContainsFunc(l.skipped.all, func(s Skipped) bool { return s.Seq == seq })
	if known || len(l.skipped.all) >= maxSkipped {
		return
	}
	l.skipped.all = append(l.skipped.all, Skipped{seq, u.Type, u.Reason})
	l.store.o.Logger.Warn("event cannot be decoded, and is skipped", "stream", l.name, "seq", seq, "type", u.Type, "reason", u.Reason)
}

// Skipped returns the events that were read since the start and could not be decoded, in the order of the log: the first
// 1,000 that were met.
func (l *logReader) Skipped() []Skipped {
	l.skipped.mu.Lock()
	defer l.skipped.mu.Unlock()
	all := slices.Clone(l.skipped.all)
	slices.SortFunc(all, func(a, b Skipped) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
