package history

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"ledge/domain"
)

// Net folds a span of the log into the difference that it makes to each entity. Its memory grows with the entities that change, not with
// the number of events.
type Net struct {
	Log  Reader
	Want func(entity, name string) bool

	of map[[2]string]*netEntry
}

// netEntry is an entity before and after the span: JSON, nil if it is not there.
type netEntry struct{ was, is []byte }

// NetChange is the difference of an entity. Verb is Added, Removed or Updated.
type NetChange struct {
	Entity  string  `json:"entity"` // a key of Kinds
	Name    string  `json:"name"`
	Verb    string  `json:"change"`
	Changes []Field `json:"changes"`
}

// Add takes the next event of the span.
func (n *Net) Add(ctx context.Context, r domain.Recorded) error {
	for entity, k := range Kinds {
		c, ok := k.Read(r)
		if !ok || !n.Want(entity, c.name) {
			continue
		}
		return n.add(ctx, [2]string{entity, c.name}, k, c)
	}
	return nil
}

func (n *Net) add(ctx context.Context, key [2]string, k Kind, c Change) (err error) {
	e, before := n.of[key], any(nil)
	switch {
	case e == nil:
		if before, err = n.findBefore(ctx, k, c); err != nil {
			return err
		}
		e = &netEntry{}
		if e.was, err = encodeKnown(k, before); err != nil {
			return err
		}
		if n.of == nil {
			n.of = map[[2]string]*netEntry{}
		}
		n.of[key] = e
	case e.is != nil:
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

// findBefore returns the entity before the first change of the span; nil if it was not there. An update leads to the events before it, up
// to one with the whole entity.
func (n *Net) findBefore(ctx context.Context, k Kind, c Change) (any, error) {
	if before := c.Before(nil); before != nil || c.Verb != Updated {
		return before, nil
	}
	w := Walk{Log: n.Log, Kind: k, Name: c.name, Looks: math.MaxUint64}
	w.goBefore(c)
	var updates []Change // the newest first
	for {
		c, ok, err := w.Step(ctx)
		if err == nil && !ok && w.End == Unread {
			err = ErrUnread
		}
		if err != nil || !ok || c.Verb == Removed {
			return nil, err
		}
		entity := c.event.entityFrom(nil)
		if entity == nil {
			updates = append(updates, c)
			continue
		}
		for _, u := range slices.Backward(updates) {
			entity = u.event.entityFrom(entity)
		}
		return entity, nil
	}
}

// All yields the entities that differ, sorted by kind and name.
func (n *Net) All() iter.Seq2[NetChange, error] {
	return func(yield func(NetChange, error) bool) {
		keys := slices.SortedFunc(maps.Keys(n.of), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		for _, key := range keys {
			e := n.of[key]
			changes, err := Kinds[key[0]].differ(e.was, e.is)
			c := NetChange{Entity: key[0], Name: key[1], Verb: verbOf(e), Changes: []Field{}}
			for leaf := range changes.Leaves() {
				c.Changes = append(c.Changes, Field{leaf.Path, leaf.Was, leaf.Is})
			}
			if (err != nil || len(c.Changes) > 0) && !yield(c, err) {
				return
			}
		}
	}
}

func verbOf(e *netEntry) string {
	switch {
	case e.was == nil:
		return Added
	case e.is == nil:
		return Removed
	}
	return Updated
}

// differ returns the values that differ between two texts of entities, without the modified time.
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
	changes, err := domain.Diff(before, after)
	delete(changes, "modified")
	return changes, err
}
