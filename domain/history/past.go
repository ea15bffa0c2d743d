package history

import (
	"context"
	"sync"
	"time"

	"ledge/domain"
)

const (
	// MostTakenBack is the number of events that are taken back for a list as of an event.
	MostTakenBack = 200_000
	// MostFormerBytes is the memory of the entities of a list that are not in the state as they were.
	MostFormerBytes = 32 << 20
	// mostOverlays is the number of lists of the past whose entities are kept in memory, and keepOverlay is how long an unused one is kept.
	mostOverlays = 2
	keepOverlay  = time.Minute
)

// Past reads entities as they were after an earlier event. Several goroutines may use it.
type Past struct {
	Source

	mu       sync.Mutex
	overlays []*overlay // the last used one is the last
	forget   *time.Timer
}

// NewPast returns the past of a source.
func NewPast(source Source) *Past { return &Past{Source: source} }

// AsOf is the state after an event, for one request.
type AsOf struct {
	past *Past
	ctx  context.Context
	seq  uint64
}

// AsOf returns the state after the event of a sequence; 0 is before the first one.
func (p *Past) AsOf(ctx context.Context, seq uint64) AsOf { return AsOf{p, ctx, seq} }

// Entity returns a reader of one entity of a list, such as domain.ListDevices.
func (a AsOf) Entity(list, name string) (func() (domain.View, func()), error) {
	k := kindOf(list)
	entity, revision, err := a.find(k, name)
	one := &found[any]{name, entity, revision, 0}
	if err == nil && entity != nil {
		var text []byte
		text, err = k.encode(entity)
		one.size = domain.SizeInWork(text)
	}
	if err != nil {
		return nil, err
	}
	s := domain.State{
		Devices: newFound(one, devices, k), Profiles: newFound(one, profiles, k), Services: newFound(one, services, k),
		Watchers: newFound(one, watchers, k), Subscriptions: newFound(one, subscriptions, k),
	}
	return func() (domain.View, func()) { return domain.View{State: s}, func() {} }, nil
}

// List returns a reader of a list, such as domain.ListDevices, and of the entities on it.
func (a AsOf) List(list string) (func() (domain.View, func()), error) {
	o, err := a.past.overlayOf(a.ctx, kindOf(list), a.seq)
	if err != nil {
		return nil, err
	}
	return listed{a.ctx, o}.view, nil
}

// kindOf returns the kind of a list. It panics if the list has no past.
func kindOf(list string) Kind {
	for _, k := range Kinds {
		if k.listName() == list {
			return k
		}
	}
	panic("history: list " + list + " has no past")
}

// overlayOf returns the overlay of a kind as of an event, up to the last event.
func (p *Past) overlayOf(ctx context.Context, k Kind, seq uint64) (*overlay, error) {
	o := p.takeOverlay(k, seq)
	if err := o.extend(ctx, p.Last()); err != nil {
		return nil, err
	}
	return o, nil
}

// takeOverlay returns an overlay that was used before, or a new one. It keeps that for the next pages of the list.
func (p *Past) takeOverlay(k Kind, seq uint64) (o *overlay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.overlays {
		if one.kind.listName() == k.listName() && one.asOf == seq {
			o = one
			p.overlays = append(p.overlays[:i:i], p.overlays[i+1:]...)
			break
		}
	}
	if o == nil {
		o = &overlay{past: p, kind: k, asOf: seq, upTo: seq, of: map[string]former{}}
	}
	p.overlays = append(p.overlays[max(0, len(p.overlays)+1-mostOverlays):], o)
	if p.forget != nil {
		p.forget.Stop()
	}
	p.forget = time.AfterFunc(keepOverlay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.overlays = nil
	})
	return o
}
