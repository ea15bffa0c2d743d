package history

import (
	"context"
	"errors"
	"math"

	"ledge/domain"
	"ledge/domain/fastjson"
)

// mostWalked is the number of events of one entity that are followed from each to the one before, of which MostArchived may be archived.
// Beyond, all events since are taken back.
const mostWalked = 1000

// errFar is the error of a walk that is too long or cannot begin.
var errFar = errors.New("the walk is too long")

// entityAt returns an entity after the event of a sequence, with its revision; nil if it was not there. It follows the events of the entity
// from the last one to the one before.
func (p *Past) entityAt(ctx context.Context, k Kind, name string, seq uint64) (entity any, revision uint64, err error) {
	w := Walk{Log: p.Log, Kind: k, Name: name, Looks: MostTakenBack}
	view, done := p.State()
	latest := LatestOf(view.State, k, name)
	done()
	w.Lives, w.Next = latest.Lives, latest.Seq
	switch {
	case latest.Entity != nil && latest.Revision <= seq:
		return latest.Entity, latest.Revision, nil
	case w.Next == 0 && !w.Lives.All:
		return nil, 0, errFar
	case w.Next == 0:
		return nil, 0, nil
	}
	return p.walkTo(ctx, &w, latest.Entity, seq)
}

// walkTo takes back the changes after a sequence. entity is that after the first change of the walk.
func (p *Past) walkTo(ctx context.Context, w *Walk, entity any, seq uint64) (_ any, revision uint64, err error) {
	var updates []Change // up to seq, of an entity that is not known, the newest first
	archived := 0
	for range mostWalked {
		c, ok, err := w.Step(ctx)
		switch {
		case err != nil:
			return nil, 0, err
		case !ok && w.End == Complete:
			return nil, 0, nil
		case !ok && w.End == Unread:
			return nil, 0, unreadError(seq)
		case !ok:
			return nil, 0, errFar
		}
		if c.Seq < p.First() {
			if archived++; archived > MostArchived {
				return nil, 0, errFar
			}
		}
		if c.Seq > seq {
			entity = c.Before(c.After(entity))
			continue
		}
		if revision == 0 {
			revision = c.Seq
		}
		if c.Verb == Removed {
			return nil, 0, nil
		}
		if entity = c.After(entity); entity != nil {
			for i := len(updates) - 1; i >= 0; i-- {
				entity = updates[i].event.entityFrom(entity)
			}
			return entity, revision, nil
		}
		updates = append(updates, c)
	}
	return nil, 0, errFar
}

// find returns the entity with a name as it was; nil if it was not there.
func (a AsOf) find(k Kind, name string) (entity any, revision uint64, err error) {
	entity, revision, err = a.past.entityAt(a.ctx, k, name, a.seq)
	if !errors.Is(err, errFar) {
		return entity, revision, err
	}
	o, err := a.past.overlayOf(a.ctx, k, a.seq)
	if err != nil {
		return nil, 0, err
	}
	l := listed{a.ctx, o}
	view, done := a.past.State()
	defer done()
	if err := l.extendTo(view); err != nil {
		return nil, 0, err
	}
	f, changed := o.look(name)
	if !changed {
		entity, revision, _ = k.Current(view.State, name)
		return entity, revision, nil
	}
	if f.text == nil {
		return nil, 0, nil
	}
	entity, err = k.decode(f.text)
	return entity, f.revision, err
}

// found is a table of one entity.
type found[T any] struct {
	key      string
	entity   any
	revision uint64
	size     int
}

// newFound returns a table of an entity of a kind, nil if the kind is another.
func newFound[T any](t *found[any], k kind[T], other Kind) domain.Table[T] {
	if k.list != other.listName() {
		return nil
	}
	return &found[T]{t.key, t.entity, t.revision, t.size}
}

// Get implements domain.Table.
func (t *found[T]) Get(key string) (entity T, ok bool) {
	if key == t.key {
		entity, ok = t.entity.(T)
	}
	return entity, ok
}

// Revision implements domain.Revised.
func (t *found[T]) Revision(string) uint64 { return t.revision }

// GetWithin implements domain.Sized.
func (t *found[T]) GetWithin(key string, most int, into *T) (r domain.Row) {
	entity, ok := t.Get(key)
	if !ok {
		return r
	}
	if r.Size = t.size; r.Size <= most {
		*into, r.OK, r.Revision = entity, true, t.revision
	}
	return r
}

// Put panics.
func (t *found[T]) Put(string, T) { panic("history: put on the past") }

// Delete panics.
func (t *found[T]) Delete(string) { panic("history: delete on the past") }

// listed is the state as an overlay shows it.
type listed struct {
	ctx context.Context
	*overlay
}

// view opens a view of the list and of its entities. It panics as a table does that cannot answer.
func (l listed) view() (domain.View, func()) {
	view, done := l.past.State()
	if err := l.extendTo(view); err != nil {
		done()
		panic(err)
	}
	now := view.State
	view.Lists = pastLists{nil, view, l}
	view.State = domain.State{
		Devices: newOverlaid(devices, now, l), Profiles: newOverlaid(profiles, now, l), Services: newOverlaid(services, now, l),
		Watchers: newOverlaid(watchers, now, l), Subscriptions: newOverlaid(subscriptions, now, l),
	}
	return view, done
}

// extendTo takes back the events since, up to the checkpoint of a view.
func (l listed) extendTo(view domain.View) error {
	seq, _ := view.Lists.Checkpoint()
	if err := l.extend(l.ctx, seq); err != nil {
		return domain.Errorf(domain.Unavailable, "take back what was recorded meanwhile: %v", err)
	}
	return nil
}

// pastLists has the keys of lists as an overlay shows them. Its other methods panic, because they have no past.
type pastLists struct {
	domain.Lists // nil
	now          domain.View
	listed
}

// Keys implements domain.Lists.
func (l pastLists) Keys(list string, p domain.Page, filters ...domain.Filter) (keys []string, total int, err error) {
	if _, _, err := l.now.Lists.Keys(list, domain.Page{}); err != nil { // the checkpoint does not move after the first list
		return nil, 0, err
	}
	if err := l.extendTo(l.now); err != nil {
		return nil, 0, err
	}
	return l.now.Lists.KeysAsOf(list, domain.Past{Seq: l.asOf, Former: l.entities()}, p, filters...)
}

// overlaid is a table as an overlay shows it.
type overlaid[T any] struct {
	now   domain.Table[T]
	codec fastjson.Codec[T]
	*overlay
}

// newOverlaid returns the table of a kind, nil if the overlay is of another.
func newOverlaid[T any](k kind[T], now domain.State, l listed) domain.Table[T] {
	if k.list != l.kind.listName() {
		return nil
	}
	return overlaid[T]{k.table(now), k.codec, l.overlay}
}

// Get implements domain.Table.
func (t overlaid[T]) Get(key string) (entity T, ok bool) {
	row := t.GetWithin(key, math.MaxInt, &entity)
	return entity, row.OK
}

// Revision implements domain.Revised.
func (t overlaid[T]) Revision(key string) uint64 {
	return t.GetWithin(key, math.MaxInt, new(T)).Revision
}

// Put panics.
func (t overlaid[T]) Put(string, T) { panic("history: put on the past") }

// Delete panics.
func (t overlaid[T]) Delete(string) { panic("history: delete on the past") }

// GetWithin implements domain.Sized.
func (t overlaid[T]) GetWithin(key string, most int, into *T) (r domain.Row) {
	f, changed := t.look(key)
	switch {
	case !changed:
		return domain.GetWithin(t.now, key, most, into)
	case f.text == nil:
		return r
	}
	if r.Size = domain.SizeInWork(f.text); r.Size > most {
		return r
	}
	if err := t.codec.Unmarshal(f.text, into); err != nil {
		panic(domain.Errorf(domain.Unavailable, "%q as of event %d: %v", key, t.asOf, err))
	}
	r.OK, r.Revision = true, f.revision
	return r
}
