package history

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"ledge/domain"
)

// overlay has the entities of a kind that events after asOf have changed or removed, as they were after asOf.
type overlay struct {
	past *Past
	kind Kind
	asOf uint64

	mu    sync.Mutex
	upTo  uint64 // the events after asOf up to here are taken back
	of    map[string]former
	bytes int
}

// former is an entity after asOf.
type former struct {
	text     []byte // JSON; nil if there was none
	revision uint64
	modified int64
}

// formerBytes is about the memory of an entry of an overlay without its name and text.
const formerBytes = 150

// look returns the entity with a name; ok is false if no event after asOf has changed it.
func (o *overlay) look(name string) (f former, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok = o.of[name]
	return f, ok
}

// entities yields the entities that were there.
func (o *overlay) entities() iter.Seq[domain.Former] {
	return func(yield func(domain.Former) bool) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for name, f := range o.of {
			if f.text == nil {
				continue
			}
			read := func() (any, error) { return o.decode(name, f) }
			if !yield(domain.Former{Key: name, Revision: f.revision, Modified: f.modified, Entity: read}) {
				return
			}
		}
	}
}

func (o *overlay) decode(name string, f former) (entity any, err error) {
	if entity, err = o.kind.decode(f.text); err != nil {
		err = fmt.Errorf("%q as of event %d: %w", name, o.asOf, err)
	}
	return entity, err
}

// checkSpan refuses to take back more events than an answer may.
func (o *overlay) checkSpan(to uint64) error {
	if n := max(to, o.asOf) - o.asOf; n > MostTakenBack {
		return o.tooMuch("%d events were recorded since, and an answer takes back %d at most", n, MostTakenBack)
	}
	return nil
}

func (o *overlay) tooMuch(format string, args ...any) error {
	const says = "the state as of event %d cannot be shown: %s; use `ledge log` or `ledge diff`, which have no limit"
	return domain.Errorf(domain.Invalid, says, o.asOf, fmt.Sprintf(format, args...))
}

// extend takes back the events behind upTo, up to a sequence.
func (o *overlay) extend(ctx context.Context, to uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if to <= o.upTo {
		return nil
	}
	if err := o.checkSpan(to); err != nil {
		return err
	}
	t := takeBack{overlay: o, of: map[string]*taken{}, left: MostTakenBack}
	err := t.readWindows(ctx, o.upTo+1, to, t.skipsName, func(window []Change) (bool, error) {
		return true, t.add(ctx, window)
	})
	if err == nil {
		err = t.complete(ctx)
	}
	if err != nil {
		return err
	}
	for name, one := range t.of {
		o.of[name] = former{one.text, one.revision, one.modified}
	}
	o.upTo, o.bytes = to, o.bytes+t.bytes
	return nil
}
