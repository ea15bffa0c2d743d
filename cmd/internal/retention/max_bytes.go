package retention

import (
	"context"
	"fmt"
	"math"

	"ledge/cmd/internal/config"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// maxBytes is the limits notifications-max-bytes and readings-max-bytes. The oldest go first: whole block files from the front of the log, with
// their state and their payload files. If less than a block has to go, as with large values, whose block is small, single data events are
// removed: one event on the log removes some hundreds of them.
//
// What counts is on the disk: payload files at their stored size and all blocks but the last, which is still written to. The newest
// data event always stays.
type maxBytes struct {
	stream
	bytes config.Size
}

func (m maxBytes) keep(ctx context.Context) error {
	for ctx.Err() == nil {
		blocks, over, err := m.over(ctx)
		if over <= 0 || err != nil {
			return err
		}
		if freed, err := m.free(ctx, blocks, over); !freed || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// over returns the blocks of the log, and by how many bytes the limit is exceeded.
func (m maxBytes) over(ctx context.Context) (blocks []store.BlockUse, over int64, err error) {
	blocks, size, err := m.size()
	if err == nil && m.values != nil && size > int64(m.bytes) {
		// Before anything goes: do the payload files still exist, and does anybody refer to them?
		if _, err = m.values.collect(ctx); err == nil {
			blocks, size, err = m.size()
		}
	}
	return blocks, size - int64(m.bytes), err
}

// size returns the blocks of the log, and the bytes that count for a limit: all blocks but the last one, and the payload files.
func (s stream) size() (blocks []store.BlockUse, sum int64, err error) {
	blocks, err = s.Log.Blocks()
	for _, one := range blocks[:max(0, len(blocks)-1)] {
		sum += one.Bytes
	}
	if err != nil || s.values == nil {
		return blocks, sum, err
	}
	use, err := s.values.payloads.Use()
	return blocks, sum + use.Bytes, err
}

// free frees some bytes: the first block with all that belongs to it, or only the oldest events of that block if they have payload
// files enough. It reports whether anything was there to be freed.
func (m maxBytes) free(ctx context.Context, blocks []store.BlockUse, bytes int64) (freed bool, err error) {
	next := uint64(math.MaxUint64)
	if len(blocks) > 1 {
		next = blocks[1].First
	}
	if m.values != nil {
		end, enough, err := m.oldest(next, bytes)
		if err != nil {
			return false, err
		}
		if enough || next == math.MaxUint64 {
			gone, _, err := m.remove(ctx, fmt.Sprintf("readings-max-bytes=%s", &m.bytes), 0, before(end))
			return gone.count > 0, err
		}
	}
	if next == math.MaxUint64 {
		return false, nil
	}
	return m.dropBefore(ctx, next)
}

// oldest returns the sequence before which data events, the newest aside, have payload files of so many bytes. It stops at the sequence
// next: enough is false if those before it have fewer.
func (m maxBytes) oldest(next uint64, bytes int64) (end uint64, enough bool, err error) {
	counted := map[string]bool{} // one payload of several readings counts once
	err = m.Read(func(v *projections.View) error {
		for from := uint64(0); ; {
			list, err := v.RecordedFrom(from)
			if err != nil || len(list) == 0 {
				return err
			}
			for _, e := range list {
				if from > 0 { // there is a newer one than those before
					end = from
				}
				if enough = end > 0 && bytes <= 0; enough || e.Seq >= next {
					return nil
				}
				bytes -= payloadBytes(v.State, e.DataEvent, counted)
				from = e.Seq + 1
			}
		}
	})
	return end, enough, err
}

// payloadBytes returns the bytes of the payload files that a data event refers to, but of those that are counted.
func payloadBytes(s domain.State, e domain.DataEvent, counted map[string]bool) (bytes int64) {
	for _, id := range e.Readings {
		if r, ok := s.Readings.Get(id); ok && r.Digest != "" && !counted[r.Digest] {
			counted[r.Digest] = true
			bytes += r.Size
		}
	}
	return bytes
}
