package history

import (
	"context"

	"ledge/domain"
)

// The verbs of events.
const (
	Added   = "added"
	Updated = "updated"
	Removed = "removed"
)

// Reader reads single events of the log of changes.
type Reader interface {
	// At returns the event at a sequence; ok is false if it cannot be read any more, or is not there.
	At(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error)
}

// Change is an event of one entity.
type Change struct {
	domain.Recorded
	Verb string // Added, Updated or Removed
	// Prev is the sequence of the event before it of the name; 0 if the event does not name one.
	Prev uint64
	// Fields are the names of the fields that an update has changed, sorted.
	Fields []string
	// Differences are the values before and after an update; nil if the event does not have them.
	Differences domain.Changes

	name   string
	before func(after any) any
	after  func(later any) any
}

// After returns the entity after the change, nil after a removal. later is that entity after its next change, without that change.
func (c Change) After(later any) any { return c.after(later) }

// Before returns the entity before the change, with the modified time of after, which is the entity after it. It is nil before an addition,
// and before an update of an old version, which does not have it.
func (c Change) Before(after any) any { return c.before(after) }

// Kind is a kind of entity.
type Kind interface {
	// Current returns an entity of the state with its revision.
	Current(s domain.State, name string) (entity any, revision uint64, ok bool)
	// Read returns an event as the change of an entity; ok is false if it is not an event of the kind.
	Read(r domain.Recorded) (c Change, ok bool)
}

// Kinds are the kinds of entities by the first token of their events' subjects.
var Kinds = map[string]Kind{
	devices.name: devices, profiles.name: profiles, services.name: services, watchers.name: watchers, subscriptions.name: subscriptions,
}

// Current implements Kind.
func (k kind[T]) Current(s domain.State, name string) (any, uint64, bool) {
	entity, ok := k.table(s).Get(name)
	if !ok {
		return nil, 0, false
	}
	return entity, domain.Revision(k.table(s), name), true
}

// Read implements Kind.
func (k kind[T]) Read(r domain.Recorded) (Change, bool) {
	e := k.read(r.Event)
	if e == nil {
		return Change{}, false
	}
	c := Change{Recorded: r, Verb: e.verb, Prev: e.prev, Fields: e.fields, name: e.name, before: e.entityBefore, after: e.entityAfter}
	switch {
	case e.update != nil:
		c.Differences = e.update.Changes
	case e.before != nil:
		c.Differences, _ = domain.Diff(*e.before, e.entity) // an error leaves the names of the fields
	}
	return c, true
}

func (e *record[T]) entityAfter(later any) any {
	switch entity, known := later.(T); {
	case e.verb == Removed:
		return nil
	case e.update == nil:
		return e.entity
	case known:
		return domain.After(domain.Update{Modified: e.update.Modified}, entity)
	}
	return nil
}

func (e *record[T]) entityBefore(after any) any {
	switch entity, known := after.(T); {
	case e.verb == Removed:
		return e.entity
	case e.before != nil:
		return *e.before
	case e.update != nil && known:
		return domain.Before(*e.update, entity)
	}
	return nil
}

// End is the reason why a walk ends.
type End int

// The reasons.
const (
	// Open is a walk that has not ended.
	Open End = iota
	// Complete is the end at the first event of the name.
	Complete
	// Unnamed is the end at an event of an older version, which does not name the one before it.
	Unnamed
	// Unread is the end at an event that cannot be read: it is in an archive that is missing.
	Unread
)

// Walk goes from an event of an entity to the ones before it.
type Walk struct {
	Log  Reader
	Kind Kind
	Name string
	// Next is the sequence of the event that the next step reads; 0 at the end.
	Next uint64
	// End is the reason why the walk has ended.
	End End
}

// Step reads the next event; ok is false at the end.
func (w *Walk) Step(ctx context.Context) (c Change, ok bool, err error) {
	if w.Next == 0 {
		return c, false, nil
	}
	r, ok, err := w.Log.At(ctx, w.Next)
	if err != nil {
		return c, false, err
	}
	if ok {
		c, ok = w.Kind.Read(r)
	}
	if !ok || c.name != w.Name {
		w.Next, w.End = 0, Unread
		return Change{}, false, nil
	}
	if w.Next = c.Prev; w.Next == 0 {
		w.End = Unnamed
		if c.Verb == Added {
			w.End = Complete
		}
	}
	return c, true, nil
}
