package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// DropBefore gives the disk back what the log's front takes, in whole block files of events before a sequence, and returns
// where the log begins then. The last event stays, whatever the sequence. The log of changes, which is kept for ever,
// refuses.
//
// A block that is only partly before the sequence stays as it is: the server would write it anew and rename it, without an
// fsync, and a power cut could take what is behind. One block goes at a time, durably, so that none is ever missing between
// others.
func (l *Log) DropBefore(ctx context.Context, seq uint64) (first uint64, err error) {
	if l.forever {
		return 1, fmt.Errorf("%s is kept for ever", l.name)
	}
	last, _ := l.Last()
	fronts, err := l.blocks.fronts(min(seq, last))
	if err != nil {
		return l.First(), fmt.Errorf("%s: %w", l.name, err)
	}
	first = l.First()
	for _, at := range fronts {
		if at <= first || ctx.Err() != nil {
			continue
		}
		if err := l.purge(ctx, at); err != nil {
			return l.First(), err
		}
		if err := l.blocks.folder(l.blocks.dir); err != nil {
			return l.First(), fmt.Errorf("%s: sync: %w", l.name, err)
		}
		first = l.First()
	}
	return first, ctx.Err()
}

// purge has the server remove all that is before a sequence, with which a block begins.
func (l *Log) purge(ctx context.Context, seq uint64) error {
	l.store.gate.RLock()
	defer l.store.gate.RUnlock()
	var r server.JSApiStreamPurgeResponse
	return callAPI(ctx, l.store.node.write, "PURGE", l.name, server.JSApiStreamPurgeRequest{Sequence: seq}, &r, func() *server.ApiError { return r.Error })
}

// fronts returns the sequences, up to one, with which blocks after the first begin, ascending. A block that begins with
// something else than an event is left out.
func (b *blocks) fronts(upTo uint64) (list []uint64, err error) {
	all, err := b.list()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for _, n := range all[1:] {
		r, err := b.begin(n)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, errRecord) {
			continue // retention has removed it, the server has just made it, or it is damage for who reads it
		}
		if err != nil {
			return nil, err
		}
		if r.event && r.seq > upTo {
			break
		}
		if r.event {
			list = append(list, r.seq)
		}
	}
	return list, nil
}

// recordStart is how a block's first record begins.
type recordStart struct {
	seq   uint64
	at    time.Time
	event bool // it is an event that was not erased
}

// begin reads the first record of a block: io.EOF where there is none, as the server has just made it, errRecord where it is
// not all there or not as it was written.
func (b *blocks) begin(n uint32) (recordStart, error) {
	f, head, err := b.open(n)
	if err != nil {
		return recordStart{}, err
	}
	defer f.Close()
	length := recordLength(head)
	if length == 0 {
		return recordStart{}, errRecord
	}
	r := make([]byte, length)
	copy(r, head)
	if _, err := io.ReadFull(f, r[recordHead:]); err != nil || !b.checksum(n).holds(r) {
		return recordStart{}, errRecord
	}
	return startOf(head), nil
}

// head is begin without the checksum, for those to whom it is a guess.
func (b *blocks) head(n uint32) (recordStart, error) {
	f, head, err := b.open(n)
	if err != nil {
		return recordStart{}, err
	}
	defer f.Close()
	return startOf(head), nil
}

// open opens a block and reads the head of its first record.
func (b *blocks) open(n uint32) (f *os.File, head []byte, err error) {
	if f, err = os.Open(b.path(n)); err != nil {
		return nil, nil, err
	}
	head = make([]byte, recordHead)
	if _, err := io.ReadFull(f, head); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, head, nil
}

func startOf(head []byte) recordStart {
	raw := binary.LittleEndian.Uint64(head[4:])
	return recordStart{
		seq: raw &^ (tombstoneBit | erasedBit), event: raw&(tombstoneBit|erasedBit) == 0,
		at: time.Unix(0, int64(binary.LittleEndian.Uint64(head[12:]))),
	}
}
