package natsblock

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/minio/highwayhash"
)

const (
	magic      = 11
	version    = 4 // that is written
	headLength = 2
	sumLength  = highwayhash.Size64
	// shortest is the least that the server accepts.
	shortest = 32
)

// ErrIndex is in the chain of the error for an index that cannot be used.
var ErrIndex = errors.New("index of the stream")

// Index is what the server knows of a stream without reading its blocks. Times are Unix nanoseconds, 0 for none.
type Index struct {
	Messages, Bytes     uint64
	First, Last         uint64
	FirstTime, LastTime int64
	Subjects            []Subject
	Blocks              []Block // ascending
	// LastBlock is the block that is written to, and Checksum the one of its last record: an index that does not name the
	// last record on the disk is stale.
	LastBlock uint32
	Checksum  [8]byte
}

// Subject is how many messages have a subject, and the first and the last block with one.
type Subject struct {
	Name        string
	Total       uint64
	First, Last uint32
}

// Block is what one block file holds. An empty block has First = Last + 1.
type Block struct {
	Number              uint32
	Bytes               uint64 // of the messages that are not deleted
	First, Last         uint64
	FirstTime, LastTime int64
}

// Messages is how many messages a block without holes has.
func (b Block) Messages() uint64 { return b.Last + 1 - b.First }

func sumOf(stream string, text []byte) []byte {
	key := sha256.Sum256([]byte(stream))
	h, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // the key is not of 32 bytes
	}
	_, _ = h.Write(text)
	return h.Sum(nil)
}

// Encode returns the file's bytes for a stream.
func (x *Index) Encode(stream string) []byte {
	size := 200 + 64*len(x.Blocks)
	for _, s := range x.Subjects {
		size += len(s.Name) + 16
	}
	b := append(make([]byte, 0, size), magic, version)
	b = binary.AppendUvarint(b, x.Messages)
	b = binary.AppendUvarint(b, x.Bytes)
	b = binary.AppendUvarint(b, x.First)
	b = binary.AppendVarint(b, x.FirstTime)
	b = binary.AppendUvarint(b, x.Last)
	b = binary.AppendVarint(b, x.LastTime)
	b = binary.AppendUvarint(b, uint64(len(x.Subjects)))
	for _, s := range x.Subjects {
		b = binary.AppendUvarint(b, uint64(len(s.Name)))
		b = append(b, s.Name...)
		b = binary.AppendUvarint(b, s.Total)
		b = binary.AppendUvarint(b, uint64(s.First))
		b = binary.AppendUvarint(b, uint64(s.Last))
	}
	b = binary.AppendUvarint(b, uint64(len(x.Blocks)))
	for _, k := range x.Blocks {
		b = binary.AppendUvarint(b, uint64(k.Number))
		b = binary.AppendUvarint(b, k.Bytes)
		b = binary.AppendUvarint(b, k.First)
		b = binary.AppendVarint(b, k.FirstTime-x.FirstTime)
		b = binary.AppendUvarint(b, k.Last)
		b = binary.AppendVarint(b, k.LastTime-x.FirstTime)
		b = append(b, 0, 0, 0) // deleted messages, messages with a time to live, scheduled messages
	}
	b = binary.AppendUvarint(b, uint64(x.LastBlock))
	b = append(b, x.Checksum[:]...)
	return append(b, sumOf(stream, b)...)
}

// Decode reads the file's bytes. Ledge has no deleted, expiring or scheduled messages, so an index with any is refused.
func Decode(stream string, text []byte) (*Index, error) {
	if len(text) < shortest {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrIndex, len(text))
	}
	body := text[:len(text)-sumLength]
	if string(sumOf(stream, body)) != string(text[len(body):]) {
		return nil, fmt.Errorf("%w: its checksum does not hold", ErrIndex)
	}
	if body[0] != magic || body[1] != version {
		return nil, fmt.Errorf("%w: version %d.%d is not known", ErrIndex, body[0], body[1])
	}
	r := reader{rest: body[headLength:], text: string(body[headLength:])}
	x := &Index{Messages: r.uint(), Bytes: r.uint(), First: r.uint(), FirstTime: r.int(), Last: r.uint(), LastTime: r.int()}
	x.Subjects = make([]Subject, 0, r.count())
	for range cap(x.Subjects) {
		x.Subjects = append(x.Subjects, Subject{r.name(), r.uint(), uint32(r.uint()), uint32(r.uint())})
	}
	x.Blocks = make([]Block, 0, r.count())
	for range cap(x.Blocks) {
		k := Block{Number: uint32(r.uint()), Bytes: r.uint(), First: r.uint()}
		k.FirstTime, k.Last, k.LastTime = r.int()+x.FirstTime, r.uint(), r.int()+x.FirstTime
		if deleted, expiring, scheduled := r.uint(), r.uint(), r.uint(); deleted|expiring|scheduled != 0 {
			return nil, fmt.Errorf("%w: block %d has deleted messages", ErrIndex, k.Number)
		}
		x.Blocks = append(x.Blocks, k)
	}
	x.LastBlock = uint32(r.uint())
	if r.bad || copy(x.Checksum[:], r.rest) != len(x.Checksum) {
		return nil, fmt.Errorf("%w: it is cut short", ErrIndex)
	}
	return x, nil
}

// reader takes numbers off the front of rest; bad once one is not there.
type reader struct {
	rest []byte
	text string // all of it: the names are parts of one string
	bad  bool
}

func (r *reader) took(n int) {
	if n <= 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return
	}
	r.rest = r.rest[n:]
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.took(n)
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.rest)
	r.took(n)
	return v
}

// count reads how many of something follow, each of at least one byte.
func (r *reader) count() uint64 {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return 0
	}
	return n
}

func (r *reader) name() string {
	n := r.count()
	if n == 0 {
		return ""
	}
	at := len(r.text) - len(r.rest)
	r.took(int(n))
	return r.text[at : at+int(n)]
}
