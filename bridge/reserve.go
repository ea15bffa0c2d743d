package bridge

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ledge/domain"
)

// reserveWait is how long Reserve waits for the bridge to give back what a removed subscription had.
const reserveWait = 5 * time.Second

// reservation keeps sockets bound for a subscription that is on its way to the log.
type reservation struct {
	channels []domain.Channel
	until    uint64
}

// Reserve binds the sockets of the channels before the command that names them is submitted; a socket that cannot be
// bound is an Invalid Error, and nothing is bound; one channel more than [domain.MaxChannelsTogether] is a Conflict Error. The caller calls
// done with the sequence of the recorded event, or with 0 when there is none.
func (e *Engine) Reserve(list []domain.Channel) (done func(seq uint64), err error) {
	if err := e.promise(len(list)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = e.promise(-len(list))
		}
	}()
	if err = e.channels.reserve(list); err != nil {
		// A subscription that was removed a moment ago may still have its socket: that is closed when the bridge gets there.
		ctx, cancel := context.WithTimeout(e.ctx, reserveWait)
		defer cancel()
		if waited := e.catchUp(ctx, e.Recorded()); waited != nil {
			return nil, waited
		}
		err = e.channels.reserve(list)
	}
	if err != nil {
		return nil, err
	}
	return func(seq uint64) {
		e.mu.Lock()
		if seq > e.settled {
			i, _ := slices.BinarySearchFunc(e.reserved, seq, func(r reservation, seq uint64) int { return cmp.Compare(r.until, seq) })
			e.reserved = slices.Insert(e.reserved, i, reservation{list, seq}) // mostly at the end
			list = nil
		}
		e.promised -= len(list)
		e.mu.Unlock()
		e.channels.release(list)
	}, nil
}

// promise counts channels that are on their way to the log.
func (e *Engine) promise(n int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if all := e.routes.channels + e.promised; n > 0 && all+n > domain.MaxChannelsTogether {
		return domain.Errorf(domain.Conflict, "channels: all subscriptions have %d together, and may have %d; remove a subscription or channels first", all, domain.MaxChannelsTogether)
	}
	e.promised += n
	return nil
}

// endReservations returns the channels of the reservations that are settled; e.mu is held.
func (e *Engine) endReservations() [][]domain.Channel {
	var ended [][]domain.Channel
	for len(e.reserved) > 0 && e.reserved[0].until <= e.settled {
		list := e.reserved[0].channels
		e.promised -= len(list)
		ended, e.reserved[0] = append(ended, list), reservation{} // the array may live on
		e.reserved = e.reserved[1:]
	}
	return ended
}

// catchUp returns when everything up to a sequence is in routes and its sockets are moved. The error is an Unavailable
// one: ctx or the engine has ended.
func (e *Engine) catchUp(ctx context.Context, seq uint64) error {
	return e.await(ctx, &e.settled, seq)
}

// catchUpNotes returns when all notifications that were posted before the call are delivered. Its error is that of catchUp.
func (e *Engine) catchUpNotes(ctx context.Context) error {
	if e.Noted == nil {
		return nil
	}
	return e.await(ctx, &e.noted, e.Noted())
}

// await waits until a position, which e.mu guards, has come to seq.
func (e *Engine) await(ctx context.Context, position *uint64, seq uint64) error {
	defer context.AfterFunc(ctx, e.wake)()
	e.mu.Lock()
	defer e.mu.Unlock()
	for *position < seq {
		if ctx.Err() != nil || e.ctx.Err() != nil {
			return domain.Errorf(domain.Unavailable, "the bridge has not caught up with event %d; try again", seq)
		}
		e.moved.Wait()
	}
	return nil
}
