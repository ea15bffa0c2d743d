package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"

	"ledge/domain"
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

// nextChain returns the hash of the event at seq whose predecessor has prev. It takes the header values as they stand
// in the message, so that an auditor needs no decoder. DESIGN.md gives the layout.
func nextChain(prev Chain, seq uint64, h Header, data []byte) Chain {
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

// chainIn returns the hash that a message carries; false where there is none or it is no hash.
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
		if nextChain(k.prev, m.Seq, m.Header, m.Data) != stored {
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
