package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledge/domain"

	"github.com/nats-io/nats.go"
)

const (
	pageEvents = 1024
	pageBytes  = 4 << 20
	// fewEvents are decoded before another goroutine could have begun.
	fewEvents = 64
	// readWait is how long the server may take for a page of the log.
	readWait = 20 * time.Second
)

// Message is an event as the stream stores it.
type Message struct {
	Seq uint64
	// At is when the server stored it.
	At      time.Time
	Subject string
	Header  Header
	Data    []byte
}

// page is some messages in a row, or the error that ends the reading.
type page struct {
	messages []Message
	err      error
}

// ReadRaw returns the stored messages from one sequence to another, both included, in order and without a hole. From 0
// is the first on the log itself, to 0 the last durable. What was moved to archives is read from there, and ends with a
// [Gap] where an archive is missing. The chain of the log is not verified; see [Log.Read].
func (l *Log) ReadRaw(ctx context.Context, from, to uint64) iter.Seq2[Message, error] {
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

// pages fetches in a goroutine of its own, ahead of the reader, until ctx ends: from the block files, and what they do
// not give by direct gets in batches, with which there is no consumer to make, to leave behind, or to stall on damage.
func (l *Log) pages(ctx context.Context, from, to uint64) <-chan page {
	out := make(chan page, 2)
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
			if from, p.err = l.archived(ctx, from, to, send); p.err == nil {
				from, p.err = l.live(ctx, from, to, send)
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
var errMoved = errors.New("the front of the log moved")

// archived sends the pages that are archived, and returns the first sequence that is on the log itself.
func (l *Log) archived(ctx context.Context, from, to uint64, send func(page) bool) (next uint64, err error) {
	first, err := l.askFirst(ctx)
	if err != nil {
		return from, fmt.Errorf("read %s: %w", l.name, err)
	}
	if from == 0 || from >= first || l.archives == nil {
		return max(from, first), nil
	}
	end := min(to, first-1)
	return end + 1, l.archives.read(ctx, from, end, l.skipGap, send)
}

// live sends the pages from the block files, and from the server what these do not give. It is errMoved where an event has
// left the log for an archive, and returns where to go on.
func (l *Log) live(ctx context.Context, from, to uint64, send func(page) bool) (next uint64, err error) {
	if l.readsFiles() && from <= to {
		b := l.blockReader(from, to)
		err := b.read(ctx, send)
		if a, ok := errors.AsType[altered](err); ok {
			return b.next, l.damage(a.seq, "%v", a)
		}
		from = b.next
	}
	if from > to {
		return from, nil
	}
	if l.store.offline {
		return from, l.damage(from, "it is missing or cannot be read")
	}
	f, err := l.newFetch()
	if err != nil {
		return from, err
	}
	defer f.close()
	for from <= to {
		if l.forever && from < l.First() {
			return from, errMoved
		}
		p := f.page(ctx, from, to)
		if n := len(p.messages); l.forever && from < l.First() && (n == 0 || p.messages[0].Seq != from) {
			return from, errMoved
		}
		if len(p.messages) == 0 && p.err == nil {
			return from, nil // retention removed all that was asked for
		}
		if !send(p) || p.err != nil {
			return from, context.Canceled
		}
		from = p.messages[len(p.messages)-1].Seq + 1
	}
	return from, nil
}

// readsFiles reports whether the log is read from its block files: not through a tap, and not after they were found not to
// be where, or not as, they are known to be.
func (l *Log) readsFiles() bool {
	return l.blocks != nil && (l.store.o.SyncAlways || !l.store.syncAlways.Load())
}

// blockReader returns what reads the messages from one sequence to another, both included.
func (l *Log) blockReader(from, to uint64) *blockReader {
	return &blockReader{blocks: &blocks{dir: l.blocks.dir, stream: l.name}, next: from, to: to}
}

// fetch is a place for answers to direct gets.
type fetch struct {
	l     *Log
	inbox string
	in    chan *nats.Msg
	sub   *nats.Subscription
}

func (l *Log) newFetch() (*fetch, error) {
	f := &fetch{l: l, inbox: nats.NewInbox(), in: make(chan *nats.Msg, pageEvents+8)}
	sub, err := l.store.node.read.ChanSubscribe(f.inbox, f.in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.name, err)
	}
	f.sub = sub
	return f, nil
}

func (f *fetch) close() { _ = f.sub.Unsubscribe() }

// page is [fetch.ask], again where JetStream was restarted in place meanwhile, which would look like damage, and once more
// where a tap finds damage: what it has heard may not be what the log has. No lock is held while the server is waited for: a
// restart would wait for it, and every append and look at health behind that.
func (f *fetch) page(ctx context.Context, from, to uint64) page {
	for twice := false; ; {
		before := f.l.store.restarts.Load()
		p := f.ask(ctx, from, to)
		restarted := f.l.store.restarts.Load() != before
		doubted := !twice && f.l.isTaps() && IsDamage(p.err)
		if p.err == nil || ctx.Err() != nil || !restarted && !doubted {
			return p
		}
		twice = twice || doubted
		again, err := f.l.newFetch()
		if err != nil {
			return page{err: err}
		}
		f.close() // with what is still on its way
		*f = *again
		f.l.store.awaitRestart()
	}
}

// ask asks for the events from one sequence on and checks that they follow one another. It is empty where all of
// them are gone for reasons of age or bytes.
func (f *fetch) ask(ctx context.Context, from, to uint64) page {
	n := min(to-from+1, pageEvents)
	request := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"max_bytes":%d}`, from, n, pageBytes)
	if err := f.l.store.node.read.PublishRequest(directGet+f.l.name, f.inbox, request); err != nil {
		return page{err: fmt.Errorf("read %s at %d: %w", f.l.name, from, err)}
	}
	p := page{messages: make([]Message, 0, n)}
	next, end := from, false
	timeout := time.NewTimer(readWait)
	defer timeout.Stop()
	for !end {
		select {
		case m := <-f.in:
			status := get(m.Header, "Status")
			if end = len(m.Data) == 0 && status != ""; end && status == "503" {
				return page{err: fmt.Errorf("read %s at %d: the server does not serve the stream", f.l.name, next)}
			}
			if end || p.err != nil {
				continue
			}
			msg, err := f.l.message(m)
			if err == nil && msg.Seq != next {
				err = f.skipped(ctx, next, msg.Seq)
			}
			if err != nil {
				p.err = err
				continue // what is on its way of this page must not be taken for the next one
			}
			if msg.Seq > to {
				continue
			}
			p.messages = append(p.messages, msg)
			next = msg.Seq + 1
		case <-ctx.Done():
			return page{err: ctx.Err()}
		case <-timeout.C:
			return page{messages: p.messages, err: fmt.Errorf("read %s at %d: no answer within %s", f.l.name, next, readWait)}
		}
	}
	if len(p.messages) == 0 && p.err == nil {
		p.err = f.skipped(ctx, next, to+1)
	}
	return p
}

// skipped says why got came where want was next: nil where retention removed those between.
func (f *fetch) skipped(ctx context.Context, want, got uint64) error {
	first, err := f.l.askFirst(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read %s at %d: %w", f.l.name, want, err) // no word of damage: it may be gone for reasons of age
	case got <= first && got > want:
		return nil
	case got < want:
		return f.l.damage(got, "it came after %d", want-1)
	case got == want+1:
		return f.l.damage(want, "it is missing or cannot be read")
	}
	return f.l.damage(want, "it is missing or cannot be read, and so may be those up to %d", got-1)
}

// message takes the server's own headers off an answer to a direct get.
func (l *Log) message(m *nats.Msg) (Message, error) {
	seqs := m.Header["Nats-Sequence"]
	if len(seqs) == 0 {
		return Message{}, fmt.Errorf("read %s: answer without a sequence: %v", l.name, m.Header)
	}
	// The server appends its own headers, so a stored one of the same name comes before and is not believed.
	seq, err := strconv.ParseUint(seqs[len(seqs)-1], 10, 64)
	if err != nil {
		return Message{}, fmt.Errorf("read %s: sequence: %w", l.name, err)
	}
	out := Message{Seq: seq, Subject: get(m.Header, "Nats-Subject"), Data: m.Data}
	out.Header = expanded(headerOf(m.Header), out.Subject)
	out.At, _ = time.Parse(time.RFC3339Nano, get(m.Header, "Nats-Time-Stamp"))
	return out, nil
}

// Read returns the events from one sequence to another, both included, in order. From 0 is the first on the log itself,
// to 0 the last durable. It ends with a [Damage] error at a sequence that is missing, altered, or not linked to the one
// before, and with a [Gap] where an archive is missing. The first event of a stream with a retention is believed.
func (l *Log) Read(ctx context.Context, from, to uint64) iter.Seq2[domain.Recorded, error] {
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

// EventAt returns the event at a sequence, verified as by [Log.Read]; ok is false where there is none, or none any more.
// It takes some 70 µs wherever on the log the event is, and a millisecond or two once for each block file.
func (l *Log) EventAt(ctx context.Context, seq uint64) (e domain.Event, ok bool, err error) {
	if last, _ := l.Last(); seq == 0 || seq > last || l.blocks != nil && seq < l.First() {
		return nil, false, nil
	}
	if l.readsFiles() {
		p := l.places.near(l.blockReader(max(seq-1, 1), seq))
		if d := l.decodePage(&linker{log: l}, p, seq); d.err == nil && len(d.events) == 1 {
			return d.events[0].Event, true, nil
		}
		l.places.forget()
	}
	for r, err := range l.Read(ctx, seq, seq) {
		return r.Event, err == nil, err
	}
	return nil, false, ctx.Err()
}

type decoded struct {
	events []domain.Recorded
	err    error
}

// groups is Read in slices: fetching, decoding with hashing, and the reader's own work run beside one another.
func (l *Log) groups(ctx context.Context, from, to uint64) iter.Seq2[[]domain.Recorded, error] {
	return func(yield func([]domain.Recorded, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		out := make(chan decoded, 2)
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

func (l *Log) decode(ctx context.Context, from, to uint64, out chan<- decoded) {
	defer close(out)
	link, start := l.linkFrom(from)
	for p := range l.pages(ctx, start, to) {
		before := link
		d := l.decodePage(&link, p, from)
		if IsDamage(d.err) && p.err == nil && l.isTaps() {
			link = before
			d = l.decodePage(&link, l.pageAgain(ctx, p), from)
		}
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

// isTaps reports whether the log is read through a tap.
func (l *Log) isTaps() bool { return l.blocks == nil && !l.store.offline && l.store.node != nil }

// pageAgain reads the messages of a page once more. What is said to be damaged has been read twice.
func (l *Log) pageAgain(ctx context.Context, p page) (again page) {
	for m, err := range l.ReadRaw(ctx, p.messages[0].Seq, p.messages[len(p.messages)-1].Seq) {
		if err != nil {
			return page{messages: again.messages, err: err}
		}
		again.messages = append(again.messages, m)
	}
	return again
}

// decodePage verifies the chain from message to message, and decodes the events beside one another. What follows the
// first fault is left out.
func (l *Log) decodePage(link *linker, p page, from uint64) decoded {
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

// events decodes messages into as many events, in equal parts on all processors. It returns how many come before the
// first fault, and that fault.
func (l *Log) events(messages []Message, events []domain.Recorded) (n int, err error) {
	parts := min(runtime.GOMAXPROCS(0), 1+len(messages)/fewEvents)
	ends, faults := make([]int, parts), make([]error, parts)
	var all sync.WaitGroup
	for part := range parts {
		i, end := part*len(messages)/parts, (part+1)*len(messages)/parts
		all.Go(func() {
			for ; i < end && faults[part] == nil; i++ {
				if events[i].Event, faults[part] = l.event(messages[i]); faults[part] != nil {
					ends[part] = i
				}
			}
		})
	}
	all.Wait()
	for part, err := range faults {
		if err != nil {
			return ends[part], err
		}
	}
	return len(messages), nil
}

// linker holds the chain from message to message. The first that it sees is believed unless it is sequence 1.
type linker struct {
	log   *Log
	prev  Chain
	seq   uint64
	known bool
}

// linkFrom returns what verifies the messages from a sequence on, and where to begin to read for it: one before, for its
// chain, unless that is known.
func (l *Log) linkFrom(from uint64) (k linker, start uint64) {
	if l.store.fronts != nil { // it is no tap's
		at := from
		if at == 0 {
			at = l.First()
		}
		if k = l.linkerAt(at); k.known {
			return k, from
		}
	}
	k.log = l
	if from > 1 {
		from--
	}
	return k, from
}

// next verifies m against its predecessor and returns all of it but the decoded event.
func (k *linker) next(m Message) (domain.Recorded, error) {
	stored, ok := chainIn(m.Header)
	if !ok {
		return domain.Recorded{}, k.log.damage(m.Seq, "it has no readable %s", headerChain)
	}
	if v := m.Header.Get(headerSpec); v != specVersion {
		return domain.Recorded{}, k.log.damage(m.Seq, "%s is %q", headerSpec, v)
	}
	if m.Seq == 1 || (k.known && m.Seq == k.seq+1) {
		if nextChain(k.prev, m.Seq, m.Header, m.Data) != stored {
			return domain.Recorded{}, k.log.damage(m.Seq, "it is altered, or the one before it is not the one that it followed: the chain hash differs")
		}
	}
	k.prev, k.seq, k.known = stored, m.Seq, true
	st, err := stampOf(m.Header)
	if err != nil {
		return domain.Recorded{}, k.log.damage(m.Seq, "%v", err)
	}
	return domain.Recorded{Stamp: st, Seq: m.Seq, Chain: stored}, nil
}

// filed holds that a message is stored under the subject that its headers, and so the chain, name.
func (l *Log) filed(m Message) error {
	about := m.Header.Get(headerSubject)
	at, ok := strings.CutPrefix(m.Subject, l.public)
	ok = ok && len(at) == len(about)
	for i := 0; ok && i < len(at); i++ {
		ok = at[i] == about[i] && at[i] != '/' || at[i] == '.' && about[i] == '/'
	}
	if !ok {
		return l.damage(m.Seq, "it is stored under %s but is about %s", m.Subject, l.public+strings.ReplaceAll(about, "/", "."))
	}
	return nil
}

// event decodes a message. One whose body cannot be decoded is a domain.Undecodable, and is noted.
func (l *Log) event(m Message) (domain.Event, error) {
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
