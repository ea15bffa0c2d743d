package eventlog

import (
	"context"
	"errors"
	"slices"

	"ledge/domain"
	"ledge/domain/history"
)

// errNotFollowed says that the events of an entity cannot be followed from each to the one before.
var errNotFollowed = errors.New("the events of the entity cannot be followed")

// followList fills the page of a query that names one entity: its events name each other, so that no others are read. done is false if the
// log has to be read.
func (s Source) followList(ctx context.Context, r *reading) (done bool, err error) {
	entity, name, exact := r.Exact()
	kind := history.Kinds[entity]
	if r.Log != Changes || !exact || kind == nil {
		return false, nil
	}
	view, release := s.State()
	latest := history.LatestOf(view.State, kind, name)
	release()
	if latest.Seq == 0 && !latest.All {
		return false, nil
	}
	before := *r
	l := &list{walk: history.Walk{Kind: kind, Name: name, Lives: latest.Lives}, reading: r, first: s.First()}
	l.walk.Log = l
	if latest.Seq > 0 {
		err = l.begin(ctx, latest.Seq)
	}
	if r.Next = 0; err == nil && r.Newest {
		err = l.followBack(ctx)
	} else if err == nil {
		err = l.followAhead(ctx)
	}
	if errors.Is(err, errNotFollowed) {
		*r = before
		return false, nil
	}
	return true, err
}

// list follows the events of one entity, the newest first. It reads them for the walk and counts them.
type list struct {
	walk history.Walk
	*reading
	first   uint64 // sequence that is not in an archive
	event   Event  // that was read last
	steps   int
	bytes   int
	missing bool // an event is in an archive that is missing
}

// At implements history.Reader.
func (l *list) At(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error) {
	if l.event, ok, err = l.log.At(ctx, seq); err != nil || !ok {
		l.missing = err == nil && seq < l.first
		return r, false, err
	}
	l.steps++
	l.bytes += len(l.event.Wire.Data)
	if seq < l.first {
		l.archived++
	}
	event, err := domain.DecodeStored(l.event.Wire)
	return domain.Recorded{Stamp: l.event.Stamp, Seq: seq, Event: event}, err == nil, err
}

// Read implements history.Reader. The walk looks for no events.
func (l *list) Read(context.Context, uint64, uint64, func(domain.Recorded) error) error {
	return errNotFollowed
}

// begin begins the walk. A page with the newest events first begins behind its span if an event of the entity is there, as behind the page
// before.
func (l *list) begin(ctx context.Context, latest uint64) error {
	if l.Newest && l.to < l.Last {
		err := l.walk.Start(ctx, l.to+1, latest)
		if err != nil || l.walk.Next > 0 || l.walk.End != history.Open {
			return err
		}
	}
	l.walk.Before, l.walk.End = 0, history.Open
	return l.walk.Start(ctx, 0, latest)
}

// isSpent reports whether the page may follow no more events.
func (l *list) isSpent() bool {
	return l.steps >= mostSteps || l.bytes >= l.Bytes || l.archived >= history.MostArchived
}

// step reads the next event of the span; ok is false at its end.
func (l *list) step(ctx context.Context) (ok bool, err error) {
	for l.walk.Next >= l.from && l.walk.Next > 0 {
		if l.isSpent() {
			return false, errNotFollowed
		}
		c, ok, err := l.walk.Step(ctx)
		switch {
		case err != nil:
			return false, err
		case !ok && l.missing:
			l.Incomplete = "earlier events are in an archive that is missing or damaged; put it into the folder of the archives"
			return false, nil
		case !ok:
			return false, errNotFollowed
		case c.Seq <= l.to:
			return true, nil
		}
	}
	if l.walk.End == history.Unnamed && l.walk.Before > l.from {
		return false, errNotFollowed
	}
	return false, nil
}

// followBack fills a page with the newest events first.
func (l *list) followBack(ctx context.Context) error {
	for {
		ok, err := l.step(ctx)
		if errors.Is(err, errNotFollowed) && l.Next > 0 {
			return nil // the next page goes on
		}
		if err != nil || !ok {
			l.Next = 0
			return err
		}
		if l.take(l.event) {
			return nil
		}
		if l.Next = l.before(l.event.Seq); l.isFull() {
			return nil
		}
	}
}

// followAhead fills a page with the oldest events first.
func (l *list) followAhead(ctx context.Context) error {
	var events []Event // of the bytes that a page reads
	for {
		ok, err := l.step(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		events = append(events, l.event)
	}
	l.Next = l.from
	for _, e := range slices.Backward(events) {
		if l.take(e) {
			return nil
		}
		if l.Next = e.Seq + 1; l.isFull() {
			return nil
		}
	}
	l.Next = l.behind
	return nil
}
