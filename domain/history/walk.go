package history

import (
	"context"
	"errors"
	"maps"
	"slices"

	"ledge/domain"
)

// The verbs of events. The events of users and tokens have "password" and "rotated" too.
const (
	Added   = "added"
	Updated = "updated"
	Removed = "removed"
)

// Reader reads events of the log of changes.
type Reader interface {
	// At returns the event at a sequence; ok is false if it cannot be read any more, or is not there.
	At(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error)
	// Read calls f with the events from one sequence to another, both included. It returns ErrUnread if one of them cannot be read
	// any more.
	Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error
}

// ErrUnread is the error for events in an archive that is missing or damaged. Its code is domain.Unavailable.
var ErrUnread error = domain.Errorf(domain.Unavailable,
	"the events are in an archive that is missing or damaged; put it into the folder of the archives")

// Change is an event of one entity.
type Change struct {
	domain.Recorded
	Verb string // such as Added
	// Prev is the sequence of the event before it of the name; 0 if the event does not name one.
	Prev uint64
	// Fields are the names of the fields that an update has changed, sorted.
	Fields []string

	name  string
	event interface {
		values() domain.Changes
		patch() *domain.Update
		entityBefore(after any) any
		entityAfter(later any) any
		entityFrom(before any) any
		hasModified() bool
		size() int
	}
}

// Values returns the values before and after the change. Those of an addition are after it, those of a removal before it.
func (c Change) Values() domain.Changes { return c.event.values() }

// After returns the entity after the change, nil after a removal. later is that entity after its next change, without that change.
func (c Change) After(later any) any { return c.event.entityAfter(later) }

// Before returns the entity before the change; after is the entity after it. It is nil before an addition, and before an update of an old
// version, which does not have it. An event of an older version leaves the modified time of after.
func (c Change) Before(after any) any { return c.event.entityBefore(after) }

// Kind is a kind of entity.
type Kind interface {
	// Current returns an entity of the state with its revision.
	Current(s domain.State, name string) (entity any, revision uint64, ok bool)
	// Lives returns the removals of a name.
	Lives(s domain.State, name string) Lives
	// Read returns an event as the change of an entity; ok is false if it is not an event of the kind.
	Read(r domain.Recorded) (c Change, ok bool)

	listName() string
	encode(entity any) ([]byte, error)
	decode(text []byte) (any, error)
	differ(was, is []byte) (domain.Changes, error)
	merge(earlier, later domain.Changes) (merged domain.Changes, ok bool)
	takeBack(entity any, c domain.Changes) any
}

// Kinds are the kinds of entities by the first token of their events' subjects.
var Kinds = map[string]Kind{
	devices.name: devices, profiles.name: profiles, services.name: services, watchers.name: watchers, subscriptions.name: subscriptions,
}

// Identities are the kinds of entities that only administrators may read.
var Identities = map[string]Kind{users.name: users, tokens.name: tokens}

// Current implements Kind.
func (k kind[T]) Current(s domain.State, name string) (any, uint64, bool) {
	entity, ok := k.table(s).Get(name)
	if !ok {
		return nil, 0, false
	}
	return entity, domain.Revision(k.table(s), name), true
}

// Lives are the removals of a name. All is false if there may be more than the state knows of.
type Lives struct {
	domain.Gone
	All bool
}

// Lives implements Kind.
func (k kind[T]) Lives(s domain.State, name string) Lives {
	removals, all := domain.RemovalsOf(s, k.name, name)
	return Lives{removals, all}
}

// Read implements Kind.
func (k kind[T]) Read(r domain.Recorded) (Change, bool) {
	e := k.read(r.Event)
	if e == nil {
		return Change{}, false
	}
	return Change{Recorded: r, Verb: e.verb, Prev: e.prev, Fields: e.fields, name: e.name, event: e}, true
}

// values returns the values before and after an event. An update of an old version has only those after it.
func (e *record[T]) values() domain.Changes {
	var none T
	before, after := none, e.entity
	switch {
	case e.update != nil:
		return e.update.Changes
	case e.verb == Removed:
		before, after = e.entity, none
	case e.before != nil:
		before = *e.before
	}
	changes, _ := domain.Diff(before, after) // values of the log can be encoded
	if e.verb == Updated {
		maps.DeleteFunc(changes, func(field string, _ domain.Difference) bool { return !slices.Contains(e.fields, field) })
	}
	return changes
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
	// Unnamed is the end at an event of an older version, which does not name the one before it. That one is below Before.
	Unnamed
	// Unread is the end at an event that cannot be read: it is in an archive that is missing.
	Unread
)

// Walk goes from an event of an entity to the ones before it, also of earlier entities with the name.
type Walk struct {
	Log   Reader
	Kind  Kind
	Name  string
	Lives Lives
	// Next is the sequence of the event that the next step reads. If it is 0, the next step looks for the last event of the entity before
	// the sequence Before; 0 at the end.
	Next, Before uint64
	// Looks is the number of events that steps may read to look for one.
	Looks uint64
	// End is the reason why the walk has ended.
	End End
}

// Step reads the next event; ok is false at the end.
func (w *Walk) Step(ctx context.Context) (c Change, ok bool, err error) {
	if w.Next == 0 {
		if err := w.findNext(ctx); err != nil || w.Next == 0 {
			return c, false, err
		}
	}
	c, ok, err = w.readAt(ctx, w.Next)
	if err != nil {
		return c, false, err
	}
	if !ok {
		w.Next, w.End = 0, Unread
		return c, false, nil
	}
	w.goBefore(c)
	return c, true, nil
}

// readAt reads an event of the entity.
func (w *Walk) readAt(ctx context.Context, seq uint64) (c Change, ok bool, err error) {
	r, ok, err := w.Log.At(ctx, seq)
	if ok && err == nil {
		c, ok = w.Kind.Read(r)
	}
	if err != nil || !ok || c.name != w.Name {
		return Change{}, false, err
	}
	return c, true, nil
}

// goBefore makes the event before c the next one.
func (w *Walk) goBefore(c Change) {
	w.Next, w.Before, w.End = c.Prev, 0, Open
	switch {
	case w.Next != 0:
	case c.Verb == Added && w.Lives.Last != 0 && w.Lives.Last < c.Seq:
		w.Next = w.Lives.Last
	case c.Verb == Added && w.Lives.All && (w.Lives.First == 0 || c.Seq < w.Lives.First):
		w.End = Complete
	default:
		w.Before, w.End = c.Seq, Unnamed
	}
}

// Start begins the walk at the last event of the entity before a sequence; latest is the last event of all.
func (w *Walk) Start(ctx context.Context, before, latest uint64) error {
	if before == 0 || before > latest {
		w.Next = latest
		return nil
	}
	c, ok, err := w.readAt(ctx, before)
	if w.Before = before; ok && err == nil {
		w.goBefore(c)
	}
	return err
}

// firstLook is the number of events that are read at once to look for one. Each further look reads four times as many.
const firstLook = 256

// findNext looks for the last event of the entity before w.Before.
func (w *Walk) findNext(ctx context.Context) error {
	for size := uint64(firstLook); w.Before > 1 && w.Looks > 0; size *= 4 {
		size = min(size, w.Looks, w.Before-1)
		from := w.Before - size
		err := w.Log.Read(ctx, from, w.Before-1, func(r domain.Recorded) error {
			if c, ok := w.Kind.Read(r); ok && c.name == w.Name {
				w.Next = r.Seq
			}
			return nil
		})
		if errors.Is(err, ErrUnread) {
			w.Next, w.Before, w.End = 0, 0, Unread
			return nil
		}
		if w.Looks -= size; err != nil || w.Next > 0 {
			return err
		}
		w.Before = from
	}
	switch {
	case w.Before == 1:
		w.Before, w.End = 0, Complete
	case w.Before > 1:
		w.End = Unnamed
	}
	return nil
}
