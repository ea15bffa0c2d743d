package delivery

import (
	"cmp"
	"slices"

	"ledge/domain"
)

// Endpoints returns how the delivery to each endpoint goes where something waits or has failed: first those with the most
// failures in a row, then those where most waits.
func (d *Delivery) Endpoints() []domain.EndpointState {
	d.mu.Lock()
	list := make([]domain.EndpointState, 0, len(d.endpoints))
	now := d.Now()
	for _, e := range d.endpoints {
		s := domain.EndpointState{Endpoint: e.name, Waiting: len(e.known) - e.busy, UnderWay: e.busy, More: e.more, Failures: e.fails}
		if e.paused.After(now) {
			s.PausedUntil = e.paused.UnixMilli()
		}
		list = append(list, s)
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b domain.EndpointState) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return list
}
