package retention

import (
	"context"
	"fmt"
	"math"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/payloads"
)

// bound keeps the outer limits of a stream: notifications-max-bytes, readings-max-bytes and readings-max-age. The oldest go
// first: whole block files from the front of the log, with their state and their payload files. If less than a block has to go, as with
// large values, whose block is small, single data events are removed: one event on the log removes some hundreds of them.
//
// What counts for bytes is on the disk: payload files at their stored size and all blocks but the last, which is still
// written to. The newest data event always stays.
type bound struct {
	logStart
	log      *store.Appender
	values   *collector // of payloads; nil for notifications, which have none
	setting  string     // what the names of its settings begin with
	bytes    config.Size
	age      time.Duration
	measured int64 // bytes that were used at the last look, and an estimate of what came since
}

func newBounds(d *node.Node, o Options, values *collector) []*bound {
	return []*bound{
		{
			logStart: logStart{d.Notifications.State, d.Notifications.Log, d.Logger, 0, d.Now}, log: d.Notifications.Appender,
			setting: "notifications", bytes: o.NotificationsMaxBytes,
		},
		{
			logStart: logStart{d.Readings.State, d.Readings.Log, d.Logger, 0, d.Now}, log: d.Readings.Appender, values: values,
			setting: "readings", bytes: o.ReadingsMaxBytes, age: o.ReadingsMaxAge,
		},
	}
}

// run keeps the limits until ctx ends. It looks again when what came since the last look may exceed the limit, and at least
// once in longestPace.
func (b *bound) run(ctx context.Context) error {
	if b.bytes == 0 && b.age == 0 {
		<-ctx.Done()
		return nil
	}
	from, _ := b.state.Checkpoint()
	came, failed := make(chan int64, 1), make(chan error, 1)
	go func() {
		failed <- b.log.Follow(ctx, from+1, func(group []domain.Recorded) error { return b.notice(ctx, came, group) })
	}()
	every := longestPace
	if b.age > 0 {
		every = pace(b.age)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := node.Try(func() error { return b.sweep(ctx) }); err != nil && ctx.Err() == nil {
			b.logger.Warn("retention interrupted, tried again in a minute or sooner", "setting", b.setting+"-max-bytes", "error", err)
		}
		for over := false; !over; {
			select {
			case err := <-failed:
				return err
			case <-tick.C:
				over = true
			case n := <-came:
				b.measured += n
				over = b.bytes > 0 && b.measured > int64(b.bytes)
			}
		}
	}
	return nil
}

// eventOverhead is about what an event takes on the log besides its values, in bytes.
const eventOverhead = 1 << 10

// notice passes on about how many bytes a group takes.
func (b *bound) notice(ctx context.Context, came chan int64, group []domain.Recorded) error {
	var n int64
	for _, r := range group {
		n += eventOverhead
		switch e := r.Event.(type) {
		case domain.ReadingPosted:
			n += e.Size
		case domain.DataEventAdded:
			for _, one := range e.Readings {
				n += one.Size
			}
		}
	}
	select {
	case before := <-came:
		n += before
	default:
	}
	select {
	case came <- n:
	case <-ctx.Done():
	}
	return nil
}

// sweep removes what is over a limit.
func (b *bound) sweep(ctx context.Context) error {
	if err := b.byAge(ctx); err != nil {
		return err
	}
	if b.bytes == 0 {
		return nil
	}
	for ctx.Err() == nil {
		blocks, over, err := b.over(ctx)
		if over <= 0 || err != nil {
			return err
		}
		if done, err := b.free(ctx, blocks, over+int64(b.bytes)/slack); done || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// over returns the blocks of the log, and by how many bytes the limit is exceeded.
func (b *bound) over(ctx context.Context) (blocks []store.BlockUse, over int64, err error) {
	if blocks, err = b.stream.Blocks(); err != nil {
		return nil, 0, err
	}
	b.measured = 0
	for _, one := range blocks[:max(0, len(blocks)-1)] {
		b.measured += one.Bytes
	}
	if b.values != nil {
		use, err := b.values.payloads.Use()
		if err == nil && b.measured+use.Bytes > int64(b.bytes) { // before anything goes: do these files still exist, and does anybody refer to them?
			use, err = b.collected(ctx)
		}
		if err != nil {
			return nil, 0, err
		}
		b.measured += use.Bytes
	}
	return blocks, b.measured - int64(b.bytes), nil
}

func (b *bound) collected(ctx context.Context) (payloads.Use, error) {
	if _, err := b.values.payloads.Collect(ctx, b.values.used); err != nil {
		return payloads.Use{}, err
	}
	return b.values.payloads.Recount()
}

// free frees some bytes: the first block with all that belongs to it, or only the oldest events of that block if they have payload
// files enough. done says that there is nothing more to free.
func (b *bound) free(ctx context.Context, blocks []store.BlockUse, bytes int64) (done bool, err error) {
	next := uint64(math.MaxUint64)
	if len(blocks) > 1 {
		next = blocks[1].First
	}
	if b.values != nil {
		upTo, enough, err := b.oldest(next, bytes)
		if err != nil {
			return false, err
		}
		if enough || next == math.MaxUint64 {
			n, err := b.remove(ctx, upTo, fmt.Sprintf("readings-max-bytes=%s", &b.bytes))
			return n == 0, err
		}
	}
	if next == math.MaxUint64 {
		return true, nil
	}
	before := b.stream.First()
	first, err := b.dropBefore(ctx, next)
	return first == before, err
}

// dropBefore drops the blocks before a sequence, with what is folded from them.
func (b *bound) dropBefore(ctx context.Context, seq uint64) (first uint64, err error) {
	before := b.stream.First()
	if first, err = b.stream.DropBefore(ctx, seq); err != nil {
		return first, err
	}
	if first != before {
		b.logger.Info("the oldest events are gone by the limits", "stream", b.stream.Name(), "from", before, "to", first-1)
	}
	n, err := b.state.Forget(ctx, first)
	if n > 0 && b.values != nil {
		node.Wake(b.values.removed)
	}
	return first, err
}

// oldest returns the sequence up to which data events, the newest aside, have payloads of so many bytes, before a sequence
// is reached; enough is false where they have fewer.
func (b *bound) oldest(next uint64, bytes int64) (upTo uint64, enough bool, err error) {
	v, done := b.state.View()
	defer done()
	seen := map[string]bool{} // one payload of several readings counts once
	var last projections.RecordedEvent
	for from := uint64(0); ; {
		list, err := v.RecordedFrom(from)
		if err != nil || len(list) == 0 {
			return upTo, false, err
		}
		for _, e := range list {
			if last.Seq > 0 { // the one before is not the newest
				for _, id := range last.Readings {
					if r, ok := v.State.Readings.Get(id); ok && r.Digest != "" && !seen[r.Digest] {
						seen[r.Digest] = true
						bytes -= r.Size
					}
				}
				if upTo = last.Seq; bytes <= 0 {
					return upTo, true, nil
				}
			}
			if e.Seq >= next {
				return upTo, false, nil
			}
			last, from = e, e.Seq+1
		}
	}
}

// remove removes the data events up to a sequence, and returns how many.
func (b *bound) remove(ctx context.Context, upTo uint64, why string) (n int, err error) {
	for from := uint64(0); ctx.Err() == nil; {
		v, done := b.state.View()
		list, err := v.RecordedFrom(from)
		done()
		var part []domain.Removal
		for _, e := range list {
			if e.Seq <= upTo {
				part = append(part, domain.Removal{ID: e.ID, Revision: e.Seq})
				from = e.Seq + 1
			}
		}
		if err != nil || len(part) == 0 {
			break
		}
		if _, err = node.Submit(ctx, b.log, b.logger, b.now, domain.CleanUp{Rule: why, DataEvents: part}); err != nil {
			return n, err
		}
		n += len(part)
	}
	if n > 0 {
		b.drop(ctx, 0)
		_, err = b.collected(ctx)
	}
	return n, err
}

// byAge removes what is older than the age.
func (b *bound) byAge(ctx context.Context) error {
	if b.age == 0 {
		return nil
	}
	end, err := b.stream.OlderThan(ctx, b.now().Add(-b.age))
	if err != nil || end <= b.stream.First() {
		return err
	}
	if _, err := b.dropBefore(ctx, end); err != nil {
		return err
	}
	_, err = b.remove(ctx, end-1, "readings-max-age="+b.age.String())
	return err
}
