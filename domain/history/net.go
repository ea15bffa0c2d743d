package history

import (
	"context"
	"iter"
	"maps"
	"slices"

	"ledge/domain"
)

// Net folds a span of the log into the difference that it makes to each entity. Its memory grows with the entities that change, not with
// the number of events.
type Net struct {
	Log  Reader
	Want func(entity, name string) bool

	of   map[[2]string]*netEntry
	open int // entries that are open
}

// netEntry is the effect of a span of the log on an entity.
type netEntry struct {
	changes domain.Changes // of all updates, while no other event came
	whole   bool           // was and is are known
	open    bool           // they are not, and the updates before the span are needed
	was, is []byte         // JSON of the entity before and after the span, nil if it is not there
}

// NetChange is the difference of an entity. Verb is Added, Removed or Updated.
type NetChange struct {
	Entity  string  `json:"entity"` // a key of Kinds
	Name    string  `json:"name"`
	Verb    string  `json:"change"`
	Changes []Field `json:"changes"`
}

// Read folds the events after a sequence up to another. An update has the values before and after it, and an addition or a removal has
// the whole entity. Only for updates that cannot be merged, or that have no values before, the log is read once more, from event 1 on. The
// error is ErrUnread if an archive is missing.
func (n *Net) Read(ctx context.Context, after, to uint64) error {
	if after >= to {
		return nil
	}
	n.of = map[[2]string]*netEntry{}
	err := n.Log.Read(ctx, after+1, to, func(r domain.Recorded) error {
		key, c, ok := n.find(r)
		if !ok {
			return nil
		}
		e := n.of[key]
		if e == nil {
			e = &netEntry{}
			n.of[key] = e
		}
		if e.open {
			return nil
		}
		err := e.add(Kinds[key[0]], c)
		if e.open {
			n.open++
		}
		return err
	})
	if err == nil && n.open > 0 {
		err = n.readOpen(ctx, after, to)
	}
	return err
}

// find returns an event as the change of a wanted entity, with the kind and the name.
func (n *Net) find(r domain.Recorded) (key [2]string, c Change, ok bool) {
	for entity, k := range Kinds {
		if c, ok = k.Read(r); ok {
			return [2]string{entity, c.name}, c, n.Want(entity, c.name)
		}
	}
	return key, c, false
}

// add takes the next event of the span.
func (e *netEntry) add(k Kind, c Change) (err error) {
	if e.whole {
		return e.addToWhole(k, c)
	}
	if u := c.event.patch(); u != nil {
		var ok bool
		e.changes, ok = k.merge(e.changes, u.Changes)
		e.open = !ok
		return nil
	}
	before := c.Before(nil)
	if e.open = before == nil && c.Verb == Updated; e.open {
		return nil
	}
	if before != nil {
		if e.was, err = k.encode(k.takeBack(before, e.changes)); err != nil {
			return err
		}
	}
	e.changes, e.whole = nil, true
	e.is, err = encodeKnown(k, c.event.entityFrom(nil))
	return err
}

// addToWhole takes the next event of an entity that is known.
func (e *netEntry) addToWhole(k Kind, c Change) (err error) {
	var before any
	if e.is != nil {
		if before, err = k.decode(e.is); err != nil {
			return err
		}
	}
	e.is, err = encodeKnown(k, c.event.entityFrom(before))
	return err
}

// encodeKnown returns the JSON of an entity, nil for none.
func encodeKnown(k Kind, entity any) ([]byte, error) {
	if entity == nil {
		return nil, nil
	}
	return k.encode(entity)
}

// readOpen reads the log from event 1 on for the entries that are open.
func (n *Net) readOpen(ctx context.Context, after, to uint64) error {
	now := map[[2]string]any{}
	err := n.Log.Read(ctx, 1, to, func(r domain.Recorded) (err error) {
		key, c, ok := n.find(r)
		e := n.of[key]
		if !ok || e == nil || !e.open {
			return nil
		}
		if r.Seq > after && !e.whole {
			e.whole = true
			if e.was, err = encodeKnown(Kinds[key[0]], now[key]); err != nil {
				return err
			}
		}
		now[key] = c.event.entityFrom(now[key])
		return nil
	})
	for key, entity := range now {
		if err == nil {
			n.of[key].is, err = encodeKnown(Kinds[key[0]], entity)
		}
	}
	return err
}

// All yields the entities that differ, sorted by kind and name.
func (n *Net) All() iter.Seq2[NetChange, error] {
	return func(yield func(NetChange, error) bool) {
		keys := slices.SortedFunc(maps.Keys(n.of), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		for _, key := range keys {
			changes, err := n.of[key].differ(Kinds[key[0]])
			c := NetChange{Entity: key[0], Name: key[1], Verb: n.of[key].verb(), Changes: []Field{}}
			for leaf := range changes.Leaves() {
				c.Changes = append(c.Changes, Field{leaf.Path, leaf.Was, leaf.Is})
			}
			if (err != nil || len(c.Changes) > 0) && !yield(c, err) {
				return
			}
		}
	}
}

func (e *netEntry) verb() string {
	switch {
	case e.whole && e.was == nil:
		return Added
	case e.whole && e.is == nil:
		return Removed
	}
	return Updated
}

// differ returns the values that differ, without the modified time.
func (e *netEntry) differ(k Kind) (changes domain.Changes, err error) {
	if changes = e.changes; e.whole {
		changes, err = k.differ(e.was, e.is)
	}
	delete(changes, "modified")
	return changes, err
}

// differ returns the values that differ between two texts of entities.
func (k kind[T]) differ(was, is []byte) (domain.Changes, error) {
	var before, after T
	for into, text := range map[*T][]byte{&before: was, &after: is} {
		if text == nil {
			continue
		}
		if err := k.codec.Unmarshal(text, into); err != nil {
			return nil, err
		}
	}
	return domain.Diff(before, after)
}

// merge returns the changes that later ones make of earlier ones; ok is false if that depends on other values.
func (k kind[T]) merge(earlier, later domain.Changes) (merged domain.Changes, ok bool) {
	if earlier == nil {
		return later, true
	}
	return domain.Merge[T](earlier, later)
}

// takeBack returns the entity before changes.
func (k kind[T]) takeBack(entity any, c domain.Changes) any {
	return domain.Before(domain.Update{Changes: c}, entity.(T))
}
