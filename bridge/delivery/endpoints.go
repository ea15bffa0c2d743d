package delivery

import (
	"cmp"
	"slices"

	"ledge/domain"
)

// Endpoints returns how the delivery to each target goes where something waits or has failed: first those with the most
// failures in a row, then those where most waits.
func (d *Delivery) Endpoints() []domain.EndpointState {
	d.mu.Lock()
	list := make([]domain.EndpointState, 0, len(d.targets))
	for _, t := range d.targets {
		s := domain.EndpointState{
			Target: t.name, Endpoint: t.shown(),
			Waiting: max(0, len(t.known)-t.busy), UnderWay: t.busy, More: t.more, Failures: max(t.gate.fails, t.server.gate.fails),
		}
		for _, g := range []*gate{&t.gate, &t.server.gate} {
			if g.paused() {
				s.PausedUntil = max(s.PausedUntil, g.until.UnixMilli())
			}
		}
		list = append(list, s)
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b domain.EndpointState) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return list
}

// TryNow has what waits for the endpoint of a channel sent now. During a pause one transmission is sent as a probe, and the others follow
// if it succeeds: to send all of them would cost each a resend. It returns how many transmissions waited.
func (d *Delivery) TryNow(c domain.Channel) (waited int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.servers[c.Endpoint()]
	if s == nil {
		return 0
	}
	now := d.Now()
	s.gate.over(now)
	for _, t := range s.targets {
		t.gate.over(now)
		waited += max(0, len(t.known)-t.busy)
		for _, it := range t.known {
			it.wanted = true
		}
		t.hasten(now)
		d.look(t)
	}
	return waited
}
