// Package history reads the past of one entity from the log of changes. [Walk] goes from an event of an entity to the ones before it.
// [Entities] gives readers of the event stream whole entities: an update on the log has only the fields that changed, and a
// notification or a callback needs the device as of that event.
//
// The state has each entity with its revision, the sequence of its last event. If that is the event in question, the
// state's entity is the answer. Else the entity has changed again since, and the updates after the event are taken back
// from it, the newest first: each says what was before, and names the update before it.
package history

import (
	"context"
	"errors"
	"slices"
	"sync"

	"ledge/domain"
)

// Entities reads the state and the event stream. Several goroutines may use it.
type Entities struct {
	// State is the state with its revisions, as of any event that followers were shown, or a later one.
	State func() (domain.State, func())
	// Try runs what reads State and returns the error of one that cannot be read, see domain.Try; nil runs it.
	Try func(read func() error) error
	// Last is the last sequence of the stream that State shows.
	Last func() uint64
	// History reads the event stream from one sequence to another, both included.
	History func(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error

	mu    sync.Mutex
	known map[string]version
	bytes int // of all that is known
}

// version is an entity as of an event.
type version struct {
	seq    uint64
	entity any
	bytes  int
}

const (
	// mostSteps is how many updates are followed from one to the one before. Beyond, the stream is read from the event on.
	mostSteps = 64
	// mostKnown is how many bytes of JSON are remembered of entities that had to be looked for: their next update is the next
	// to be asked about. A follower that is far behind reads the stream once for each entity, as long as they are not
	// more. One entity is remembered whatever its size.
	mostKnown = 8 << 20
)

// Whole returns an event with the whole entity, where it is an update of one: as the event of version 1, such as a
// domain.DeviceUpdated. An update of an entity that was not there is returned as it is, and means nothing.
func (p *Entities) Whole(ctx context.Context, r domain.Recorded) (domain.Recorded, error) {
	group, err := p.Group(ctx, []domain.Recorded{r}, nil)
	if err != nil {
		return r, err
	}
	return group[0], nil
}

// Group is Whole for the events of a group for which want is true (nil: for all). It does not change the group.
func (p *Entities) Group(ctx context.Context, group []domain.Recorded, want func(domain.Event) bool) ([]domain.Recorded, error) {
	group = slices.Clone(group)
	older, err := p.latest(ctx, group, want)
	if err != nil {
		return nil, err
	}
	for _, i := range older {
		if group[i].Event, err = updateOf(group[i].Event).older(ctx, p, group[i]); err != nil {
			return nil, err
		}
	}
	return group, nil
}

// latest makes the wanted updates whole that are the last ones of their entity, with one look at the state, and returns the indexes of the
// other wanted ones.
func (p *Entities) latest(ctx context.Context, group []domain.Recorded, want func(domain.Event) bool) (older []int, err error) {
	updates := make([]update, len(group))
	found := false
	for i, r := range group {
		if want == nil || want(r.Event) {
			updates[i] = updateOf(r.Event)
		}
		found = found || updates[i] != nil
	}
	if !found {
		return nil, nil
	}
	err = p.try(func() error {
		s, done := p.State()
		defer done()
		older = older[:0]
		for i, u := range updates {
			if u == nil {
				continue
			}
			if e, ok := u.latest(s, group[i].Seq); ok {
				group[i].Event = e
			} else {
				older = append(older, i)
			}
		}
		return nil
	})
	return older, err
}

func (p *Entities) try(read func() error) error {
	if p.Try == nil {
		return read()
	}
	return p.Try(read)
}

// afterOf returns the entity after an update that others may have followed, with the modified time of any of them.
func afterOf[T any](ctx context.Context, p *Entities, o one[T], seq uint64) (after T, ok bool, err error) {
	key := o.name + "/" + o.Name
	if v, found := p.remembered(key); found && o.Prev != 0 && v.seq == o.Prev {
		after = domain.After(o.Update, v.entity.(T))
		p.remember(key, version{seq: seq, entity: after})
		return after, true, nil
	}
	after, revision, ok, err := readCurrent(ctx, p, o)
	if err != nil {
		return after, false, err
	}
	if ok && revision > seq {
		since, found, err := followSteps(ctx, p, o, seq, revision)
		if err != nil {
			return after, false, err
		}
		if found {
			after = undoUpdates(after, since)
			p.remember(key, version{seq: seq, entity: after})
			return after, true, nil
		}
	}
	if !ok {
		revision = p.Last()
	}
	after, since, ok, err := scanEvents(ctx, p, o, after, ok, seq, revision)
	if !ok || err != nil {
		return after, false, err
	}
	after = undoUpdates(after, since)
	p.remember(key, version{seq: seq, entity: after})
	return after, true, nil
}

// readCurrent returns an entity as the state has it, with its revision.
func readCurrent[T any](ctx context.Context, p *Entities, o one[T]) (entity T, revision uint64, ok bool, err error) {
	err = p.try(func() error {
		s, done := p.State()
		defer done()
		entity, ok = o.table(s).Get(o.Name)
		revision = domain.Revision(o.table(s), o.Name)
		return nil
	})
	return entity, revision, ok, err
}

// undoUpdates takes updates back, the last one first.
func undoUpdates[T any](entity T, since []domain.Update) T {
	for i := len(since) - 1; i >= 0; i-- {
		entity = domain.Before(since[i], entity)
	}
	return entity
}

// followSteps goes from an entity's last update back to the one at seq, from each to the one before, and returns those after seq.
func followSteps[T any](ctx context.Context, p *Entities, o one[T], seq, at uint64) (since []domain.Update, found bool, err error) {
	for range mostSteps {
		var u domain.Update
		err := p.History(ctx, at, at, func(r domain.Recorded) error {
			u = domain.Update{}
			if change := o.read(r.Event); change != nil && change.update != nil {
				u = *change.update
			}
			return nil
		})
		if err != nil || u.Name != o.Name || u.Prev < seq {
			return nil, false, err
		}
		since = append([]domain.Update{u}, since...)
		if at = u.Prev; at == seq {
			return since, true, nil
		}
	}
	return nil, false, nil
}

var errFound = errors.New("found")

// scanEvents reads the stream after seq for the updates of an entity, up to its removal, which has it as it was, or to revision.
func scanEvents[T any](ctx context.Context, p *Entities, o one[T], entity T, ok bool, seq, revision uint64) (
	T, []domain.Update, bool, error,
) {
	var since []domain.Update
	err := p.History(ctx, seq+1, revision, func(r domain.Recorded) error {
		switch change := o.read(r.Event); {
		case change == nil || change.name != o.Name:
		case change.update != nil:
			since = append(since, *change.update)
		case change.verb == Removed:
			entity, ok = change.entity, true
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return entity, since, ok, err
}

func (p *Entities) remembered(key string) (version, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.known[key]
	return v, ok
}

// remember keeps an entity for its next update; of too many, all are forgotten.
func (p *Entities) remember(key string, v version) {
	v.bytes = len(key) + jsonSize(v.entity)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes -= p.known[key].bytes
	delete(p.known, key)
	if p.known == nil || p.bytes+v.bytes > mostKnown {
		p.known, p.bytes = map[string]version{}, 0
	}
	p.known[key] = v
	p.bytes += v.bytes
}
