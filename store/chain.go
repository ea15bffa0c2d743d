package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"slices"
	"sync"

	"ledge/domain"
	"ledge/store/natsblock"
)

// Chain is the hash over an event and the chain hash of the event before it.
type Chain = [sha256.Size]byte

// chainTag begins the bytes of every hash, so that another layout can never give the same ones.
const chainTag = "ledge.chain/1"

// chained are the headers that every event has or could have, in the order in which they are hashed.
var chained = [...]string{
	headerType, headerSubject, headerID, headerSource, headerTime,
	headerActor, headerOrigin, headerCorrelation, headerContentType,
}

// NextChain returns the hash of the event at seq whose predecessor has prev, zeros for sequence 1. It takes the header values in their
// long form, still percent-encoded, so that an auditor needs no decoder. DESIGN.md gives the layout.
func NextChain(prev Chain, seq uint64, h Header, data []byte) Chain {
	c := chainers.Get().(*chainer)
	defer chainers.Put(c)
	return c.next(prev, seq, h, data)
}

// chainer is what a hash needs meanwhile.
type chainer struct {
	hash  hash.Hash
	bytes []byte
}

var chainers = sync.Pool{New: func() any { return &chainer{hash: sha256.New()} }}

func (c *chainer) next(prev Chain, seq uint64, h Header, data []byte) (sum Chain) {
	b := c.bytes[:0]
	b = append(b, chainTag...)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, seq)
	for _, name := range chained {
		b = appendField(b, h.Get(name))
	}
	ext := h.extensions()
	b = binary.BigEndian.AppendUint32(b, uint32(len(ext)))
	for _, f := range ext {
		b = appendField(b, f.Name[len(attributePrefix):])
		b = appendField(b, f.Value)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	c.bytes = b
	c.hash.Reset()
	c.hash.Write(b)
	c.hash.Write(data)
	c.hash.Sum(sum[:0])
	return sum
}

func appendField(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// Chained returns the headers that the chain hash covers, in their order.
func (h Header) Chained() (list Header) {
	for _, f := range h {
		if slices.Contains(chained[:], f.Name) || isExtension(f.Name) {
			list = append(list, f)
		}
	}
	return list
}

// chainIn returns the hash that a message carries; false where there is none or it is not a hash.
func chainIn(h Header) (sum Chain, ok bool) {
	text := h.Get(headerChain)
	if isShortChain(text) {
		_, err := short64.Decode(sum[:], []byte(text))
		return sum, err == nil
	}
	return chainOf(text)
}

// linker verifies the chain from message to message. It trusts the first message that it sees, unless that is sequence 1.
type linker struct {
	stream *stream
	prev   Chain
	seq    uint64
	known  bool
}

// next verifies m against its predecessor. It returns everything but the decoded event.
func (k *linker) next(m Message) (domain.Recorded, error) {
	stored, ok := chainIn(m.Header)
	if !ok {
		return domain.Recorded{}, k.stream.damage(m.Seq, "it has no readable %s", headerChain)
	}
	if v := m.Header.Get(headerSpec); v != specVersion {
		return domain.Recorded{}, k.stream.damage(m.Seq, "%s is %q", headerSpec, v)
	}
	if m.Seq == 1 || (k.known && m.Seq == k.seq+1) {
		if NextChain(k.prev, m.Seq, m.Header, m.Data) != stored {
			return domain.Recorded{}, k.stream.damage(m.Seq, "it is altered, or the one before it is not the one that it followed: the chain hash differs")
		}
	}
	k.prev, k.seq, k.known = stored, m.Seq, true
	st, err := stampOf(m.Header)
	if err != nil {
		return domain.Recorded{}, k.stream.damage(m.Seq, "%v", err)
	}
	return domain.Recorded{Stamp: st, Seq: m.Seq, Chain: stored}, nil
}

// linkFrom returns the linker for messages from a sequence on, and the sequence to read from. That is one earlier, unless the
// chain hash of the event before is known.
func (l *logFiles) linkFrom(from uint64) (k linker, start uint64) {
	if l.manifest != nil { // a running server has it
		at := from
		if at == 0 {
			at = l.First()
		}
		if k = l.linkerAt(at); k.known {
			return k, from
		}
	}
	k.stream = &l.stream
	if from > 1 {
		from--
	}
	return k, from
}

// Linked is a message with its chain hash, and the chain hash of the event before it.
type Linked struct {
	Message
	Before, Chain Chain
}

// Linked returns the messages from one sequence to another, both included, as [Log.ReadRaw] does, each verified against the one before it.
// from is 1 or more. The error is a [Gap] if an archive is missing, and a [Damage] for an event that is missing or altered.
func (l *logReader) Linked(ctx context.Context, from, to uint64) iter.Seq2[Linked, error] {
	return func(yield func(Linked, error) bool) {
		link, start := l.linkFrom(from)
		due := start
		for m, err := range l.ReadRaw(ctx, start, to) {
			if err == nil && m.Seq != due {
				err = fmt.Errorf("%s: events %d to %d are not on the log any more", l.name, due, m.Seq-1)
			}
			before := link.prev
			if err == nil {
				_, err = link.next(m)
			}
			if err != nil {
				yield(Linked{}, err)
				return
			}
			if due++; m.Seq >= from && !yield(Linked{m, before, link.prev}, nil) {
				return
			}
		}
	}
}

// Chains calls each with the chain hash of each event from one sequence to another, both included. from is 1 or more. It reads the headers
// alone of events in block files: the checksum of each record is compared, and the chain is not verified. Errors are those of [Log.Linked].
func (l *logReader) Chains(ctx context.Context, from, to uint64, each func(Chain)) error {
	next := from
	if from >= l.First() {
		next = l.chainsInBlocks(ctx, from, to, each)
	}
	if next > to {
		return nil
	}
	for e, err := range l.Linked(ctx, next, to) { // the rest is in an archive, was moved meanwhile, or is damaged
		if err != nil {
			return err
		}
		each(e.Chain)
	}
	return ctx.Err()
}

// chainsInBlocks is Chains up to the first record that is not as expected. It returns the sequence to go on with.
func (l *logReader) chainsInBlocks(ctx context.Context, next, to uint64, each func(Chain)) uint64 {
	all, err := l.blocks.List()
	if err != nil || len(all) == 0 {
		return next
	}
	scan := natsblock.Scan{Files: l.blocks, Prefix: l.public, Chunk: readChunk}
	for _, n := range all[l.holding(all, next):] {
		scan.Block, scan.Skip = n, next-1
		l.offsets.seek(&scan, next)
		for r, err := range scan.Records() {
			if err == nil && (!r.IsMessage() || r.Seq() < next) {
				continue
			}
			if err != nil || ctx.Err() != nil || r.Seq() != next {
				l.offsets.forget() // the offset may be wrong
				return next
			}
			chain, ok := chainInRecord(r)
			if !ok {
				return next
			}
			each(chain)
			if next++; next > to {
				return next
			}
		}
	}
	return next
}

// chainInRecord is chainIn for a record.
func chainInRecord(r natsblock.Record) (sum Chain, ok bool) {
	_, headers, _ := r.Parts()
	_, value, found := bytes.Cut(headers, []byte("\r\n"+headerChain+": "))
	value, _, ended := bytes.Cut(value, []byte("\r\n"))
	if !found || !ended {
		return sum, false
	}
	return chainIn(Header{{headerChain, string(value)}})
}
