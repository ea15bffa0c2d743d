package natsblock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"ledge/store/osfile"
)

const (
	// sector is how much of a file is given up where the disk cannot read it.
	sector = 4 << 10
	// MaxGap is by how much a sequence is beyond the one before where that is damage: no block has so many records. The server must not
	// see such a record: it would fill the gap in memory, sequence by sequence, until there is none left.
	MaxGap = 1 << 20
)

// ErrForeign is the cause of a [Bad] block that is compressed or encrypted. Ledge has the server write none.
var ErrForeign = errors.New("it is compressed or encrypted, as Ledge writes none")

// Bad is a part of a block file that is not as the server wrote it. It is one error for one stretch of bytes.
type Bad struct {
	Block  uint32
	Offset int64
	Bytes  int64  // up to the next whole record, or the end of the file
	Next   uint64 // the sequence of that record if it is a message, or 0
	Cause  error  // why the disk cannot read a part of it, or ErrForeign; nil if it is altered or cut off
	// Unknown says that the search for the next whole record was given up, since the bytes imitate records. There may be some.
	Unknown bool
}

// Error says where it is.
func (b *Bad) Error() string {
	what := "altered or cut off"
	if b.Cause != nil {
		what = b.Cause.Error()
	}
	return fmt.Sprintf("%d.blk at offset %d, %d bytes: %s", b.Block, b.Offset, b.Bytes, what)
}

// Unwrap returns the cause.
func (b *Bad) Unwrap() error { return b.Cause }

// Scan goes over the records of one block file, up to the size that the file has when it begins. It can be used again for another block.
type Scan struct {
	*Files
	Block  uint32
	As     uint32 // the number of the block that was written, if the file has another name now; 0 if not
	Offset int64  // where it begins; a record begins there
	// Skip passes over records up to this sequence by their lengths, unread. They are not handed out.
	Skip uint64
	// Passed, if it is not nil, is told of each message that is passed over, with its offset.
	Passed func(seq uint64, at int64)
	// After is the sequence before the one that is due, or 0. Behind a part that is bad, whole records with this or an earlier sequence are not
	// looked for: they may be in a payload.
	After uint64
	// Prefix begins the subjects of all messages.
	Prefix string
	// Chunk is how many bytes are read at a time; MaxBlock for the block at once.
	Chunk int
	// Keep says that records stay as they are for good. If not, each holds until the next.
	Keep bool
	// OneChunk ends the scan with the first chunk that has a record to hand out. All of them hold until the next scan.
	OneChunk bool

	// Text has what was read last: with MaxBlock the whole block. It is used again, if not Keep.
	Text []byte
	// Room is the buffer that is read into, unless Keep. It can be taken from an earlier scan.
	Room []byte

	base    int64 // of Text in the block
	size    int64
	unread  []int64 // where sectors begin that the disk cannot read
	failure error   // the last error of those
}

// Records returns the records in order. For each part that is bad it returns a [*Bad] and goes on behind it; any other error is about
// opening the file and the last.
func (s *Scan) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := osfile.Open(s.Path(s.Block), os.O_RDONLY, 0)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer f.Close()
		if err := s.begin(f); err != nil {
			yield(Record{}, err)
			return
		}
		s.run(f, yield)
	}
}

func (s *Scan) begin(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	s.size, s.base, s.Text, s.unread, s.failure = st.Size(), s.Offset, nil, s.unread[:0], nil
	return nil
}

// skips says that a record is passed over. The server writes no sequence 0: the head of such a record is torn.
func (s *Scan) skips(seq uint64) bool { return 0 < seq && seq <= s.Skip }

func (s *Scan) run(f io.ReaderAt, yield func(Record, error) bool) {
	end := min(s.size, MaxBlock)
	if s.Offset == 0 && s.foreign(f, s.Block) {
		yield(Record{}, &Bad{Block: s.Block, Bytes: s.size, Cause: ErrForeign})
		return
	}
	sum, last, found := ChecksumOf(s.Stream, cmp.Or(s.As, s.Block)), max(s.After, s.Skip), false
	for at := s.Offset; at < end; {
		if s.OneChunk && found && !s.has(at, headBytes, end) {
			return
		}
		b := s.fill(f, at, headBytes, end)
		n := 0
		if len(b) >= headBytes {
			n = length(b)
		}
		if n > 0 && int64(n) <= end-at && s.skips((Record{Raw: b}).Seq()) {
			if r := (Record{Raw: b}); s.Passed != nil && r.IsMessage() {
				s.Passed(r.Seq(), at)
			}
			at += int64(n)
			continue
		}
		if s.OneChunk && found && !s.has(at, n, end) {
			return
		}
		b = s.fill(f, at, n, end)
		if end = min(end, s.size); at >= end { // the file has become shorter
			return
		}
		raw, ok := sum.Whole(b)
		if !ok || (Record{Raw: raw}).flags() == 0 || s.isUnread(at, at+int64(len(raw))) {
			if s.OneChunk && found {
				return
			}
			bad := s.search(f, sum, at, end, last)
			if !yield(Record{}, bad) {
				return
			}
			at += bad.Bytes
			continue
		}
		r := Record{at, raw}
		if r.IsMessage() {
			last = r.Seq()
		}
		if found = true; !yield(r, nil) {
			return
		}
		at = r.End()
	}
	if s.size > MaxBlock {
		yield(Record{}, &Bad{Block: s.Block, Offset: MaxBlock, Bytes: s.size - MaxBlock, Cause: fmt.Errorf("a block is never longer than %d bytes", MaxBlock)})
	}
}

// rest returns what was read from an offset on.
func (s *Scan) rest(at int64) []byte {
	if past := at - s.base; past < int64(len(s.Text)) {
		return s.Text[past:]
	}
	return nil
}

// has reports whether as many bytes as are needed were read from an offset on, or all up to the end.
func (s *Scan) has(at int64, need int, end int64) bool {
	n := len(s.rest(at))
	return n >= need || at+int64(n) >= end
}

// fill returns the bytes from an offset on: as many as are needed, or up to the end.
func (s *Scan) fill(f io.ReaderAt, at int64, need int, end int64) []byte {
	rest := s.rest(at)
	if s.has(at, need, end) {
		return rest
	}
	n := int(min(int64(max(need, s.Chunk)), end-at))
	if s.Keep || cap(s.Room) < n {
		s.Room = make([]byte, n)
	}
	b := s.Room[:n]
	have := copy(b, rest)
	b = b[:have+s.read(f, b[have:], at+int64(have))]
	s.Text, s.base = b, at
	return b
}

// read fills b from an offset on, and goes on behind each sector that cannot be read. It leaves zeros there. The size becomes smaller if the
// file has become shorter.
func (s *Scan) read(f io.ReaderAt, b []byte, at int64) (n int) {
	for n < len(b) {
		got, err := f.ReadAt(b[n:], at+int64(n))
		n += got
		if err == nil {
			break
		}
		if errors.Is(err, io.EOF) {
			s.size = at + int64(n)
			break
		}
		begins := (at + int64(n)) / sector * sector
		s.unread, s.failure = append(s.unread, begins), err
		end := int(min(begins+sector-at, int64(len(b))))
		clear(b[n:end])
		n = end
	}
	return n
}

// isUnread reports whether the disk cannot read a sector that has bytes between two offsets.
func (s *Scan) isUnread(from, to int64) bool {
	for _, at := range s.unread {
		if at < to && at+sector > from {
			return true
		}
	}
	return false
}

// search returns what is bad at an offset: all up to the next whole record. It reads the rest of the block.
func (s *Scan) search(f io.ReaderAt, sum Checksum, at, end int64, last uint64) *Bad {
	b := s.fill(f, at, int(end-at), end)
	bad := &Bad{Block: s.Block, Offset: at, Bytes: max(int64(len(b)), 1)}
	budget := 8*len(b) + BlockSize // bytes to hash: whoever fills a payload with heads of records must not hold up a start
	next := func(i int) bool {
		raw, ok := s.plausible(b[i:], last)
		if !ok {
			return false
		}
		if budget -= len(raw); budget < 0 {
			bad.Unknown = true
			return true
		}
		if _, ok := sum.Whole(raw); !ok || s.isUnread(at+int64(i), at+int64(i+len(raw))) {
			return false
		}
		bad.Bytes = int64(i)
		if r := (Record{Raw: raw}); r.IsMessage() {
			bad.Next = r.Seq()
		}
		return true
	}
	n := 0
	if len(b) >= headBytes {
		n = length(b)
	}
	if n == 0 || n >= len(b) || !next(n) { // most often the length is right
		for i := 1; i+Overhead <= len(b) && !next(i); i++ {
		}
	}
	if s.isUnread(at, at+bad.Bytes) {
		bad.Cause = s.failure
	}
	return bad
}

// plausible reports whether a record may begin with b. It costs next to nothing.
func (s *Scan) plausible(b []byte, last uint64) (raw []byte, ok bool) {
	if len(b) < Overhead {
		return nil, false
	}
	n := length(b)
	if n == 0 || n > len(b) {
		return nil, false
	}
	r := Record{Raw: b[:n:n]}
	if !r.IsMessage() {
		return r.Raw, n == Overhead
	}
	seq := r.Seq()
	return r.Raw, bytes.HasPrefix(b[headBytes:], []byte(s.Prefix)) && (last == 0 || seq > last && seq-last < MaxGap)
}
