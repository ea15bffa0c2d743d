package store

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"sort"
	"sync"
)

const (
	// placeEvery is how many bytes of a block, about, one remembered place stands for.
	placeEvery = 16 << 10
	// mostPlaces bounds what is remembered: 8 MiB, for 8 GiB of log. Beyond, all is forgotten.
	mostPlaces = 1 << 19
)

// places remembers where in the block files some records are, so that one is read without those before it. A block is
// gone over once, and its own record heads tell whether what is remembered is still so.
type places struct {
	mu     sync.Mutex
	blocks []blockPlaces // ascending, of neighbours
	held   int           // places of all blocks
}

type blockPlaces struct {
	number uint32
	places []place // the first is that of the first record
	end    int64   // of what was gone over
	last   uint64  // the last sequence there
}

// place is the offset of a record in its block.
type place struct {
	seq uint64
	at  int64
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p *places) goOver(b *blockReader, i int, seq uint64) error {
	n, err := p.blocks[i].goOver(b, seq)
	p.held += n
	return err
}

// find returns the block of a durable record and a place there that is not far before it; not ok where the files are not
// as they are known to be.
func (p *places) find(b *blockReader, seq uint64) (number uint32, from place, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held > mostPlaces {
		p.blocks, p.held = nil, 0
	}
	for again := false; ; again = true {
		if err := p.extend(b, again); err != nil {
			return 0, from, false
		}
		i := sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].places[0].seq > seq }) - 1
		if i < 0 || p.goOver(b, i, seq) != nil {
			if again {
				return 0, from, false
			}
			continue
		}
		known := p.blocks[i].places
		from = known[sort.Search(len(known), func(i int) bool { return known[i].seq > seq })-1]
		return p.blocks[i].number, from, true
	}
}

// forget makes the next find begin anew.
func (p *places) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks, p.held = nil, 0
}

// extend takes in the blocks that are new, or, again, all that there are.
func (p *places) extend(b *blockReader, again bool) error {
	if again {
		p.blocks, p.held = nil, 0
	}
	if n := len(p.blocks); n > 0 && !exists(b.path(p.blocks[n-1].number+1)) {
		return nil
	}
	all, err := b.list()
	if err != nil {
		return err
	}
	for _, n := range all {
		if known := len(p.blocks); known > 0 && n <= p.blocks[known-1].number {
			continue
		}
		start, err := b.head(n)
		if err != nil {
			return err
		}
		p.blocks = append(p.blocks, blockPlaces{number: n, places: []place{{seq: start.seq}}})
		p.held++
	}
	return nil
}

// goOver looks at the heads of a block's records up to a sequence, and returns how many places it has found.
func (in *blockPlaces) goOver(b *blockReader, seq uint64) (n int, err error) {
	if seq <= in.last {
		return 0, nil
	}
	f, err := OpenFile(b.path(in.number), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Seek(in.end, io.SeekStart); err != nil {
		return 0, err
	}
	for r := bufio.NewReaderSize(f, placeEvery); in.last < seq; {
		head, err := r.Peek(recordHead)
		if err != nil {
			return n, err
		}
		length, at := recordLength(head), binary.LittleEndian.Uint64(head[4:])
		if length == 0 {
			return n, errRecord
		}
		if at&(erasedBit|tombstoneBit) == 0 {
			if known := in.places[len(in.places)-1]; in.end-known.at >= placeEvery {
				in.places = append(in.places, place{at, in.end})
				n++
			}
			in.last = at
		}
		if _, err := r.Discard(length); err != nil {
			return n, err
		}
		in.end += int64(length)
	}
	return n, nil
}

// near reads the few messages that b is to read; it finds fewer where the files are not as expected.
func (p *places) near(b *blockReader) (found page) {
	number, from, ok := p.find(b, b.next)
	if !ok {
		return page{}
	}
	collect := func(got page) bool {
		found.messages = append(found.messages, got.messages...)
		return true
	}
	if b.block(number, from.at, 2*placeEvery, collect) == nil && b.next <= b.to {
		_ = b.block(number+1, 0, 2*placeEvery, collect) // what is missing is not in found
	}
	return found
}
