package callback

import (
	"context"
	"slices"

	"ledge/domain"
)

// rewind takes the fold back from the sequence to to the sequence from. The first event of a device after from tells
// whose it was at from, unless it is the one that moved it; then the part of the stream before does, which is read for
// that alone.
func (o *owners) rewind(ctx context.Context, history History, from, to uint64) error {
	if from >= to {
		return nil
	}
	was, moved := map[string]owner{}, map[string]bool{}
	err := history(ctx, from+1, to, func(r domain.Recorded) error {
		x, ok := entityOf(r.Event)
		if _, seen := was[x.key]; !ok || seen || moved[x.key] {
			return nil
		}
		switch _, owned := o.of[x.key]; {
		case x.moves():
			moved[x.key] = true
		case owned || x.service != domain.DeviceREST:
			was[x.key] = x.before()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, w := range was {
		o.put(key, w)
	}
	for key := range moved {
		o.put(key, owner{})
	}
	if len(moved) == 0 {
		return nil
	}
	return history(ctx, 1, from, func(r domain.Recorded) error {
		if x, ok := entityOf(r.Event); ok && moved[x.key] {
			o.put(x.key, x.owner())
		}
		return nil
	})
}

// moves reports whether the event gave the entity to another service or profile.
func (x entity) moves() bool {
	return slices.Contains(x.changed, "serviceName") || slices.Contains(x.changed, "profileName")
}

// before is whose the entity was before an event that does not move it.
func (x entity) before() owner {
	switch {
	case x.gone:
		x.gone = false
		return x.owner()
	case x.changed == nil: // it was added
		return owner{}
	default:
		return x.owner()
	}
}
