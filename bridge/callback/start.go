package callback

import "ledge/domain"

// Start is what the projections know when the callbacks start.
type Start struct {
	// State is that of Events, the checkpoint of the event stream.
	State  domain.View
	Events uint64
	// Cursors are those of the notification stream. Forgotten says that retention has removed its beginning: without a
	// position on record what is older than the start is then not told again.
	Cursors   domain.Table[uint64]
	Forgotten bool
}

// load takes the services, whose the devices are, and the position.
func (c *Callbacks) load(at Start) error {
	all, _, err := at.State.Lists.Services(domain.Page{Limit: -1})
	if err != nil {
		return err
	}
	upTo, _ := at.Cursors.Get(domain.CursorCallbacks)
	if upTo == 0 && at.Forgotten {
		upTo = at.Events
	}
	c.started, c.followed, c.position.upTo, c.position.behind = at.Events, upTo, upTo, map[string]uint64{}
	for _, d := range all {
		if d.Name == domain.DeviceREST {
			continue
		}
		s := newService(d.Name)
		s.base, s.had = d.BaseAddress, upTo
		if seq, ok := at.Cursors.Get(domain.CursorCallbacksOf(d.Name)); ok {
			s.had, c.position.behind[d.Name] = seq, seq
			c.followed = min(c.followed, seq)
		}
		c.services[d.Name] = s
		if err := c.loadOwned(at.State.Lists, d.Name); err != nil {
			return err
		}
	}
	return nil
}

// loadOwned notes the devices and provision watchers of a service.
func (c *Callbacks) loadOwned(lists domain.Lists, service string) error {
	mine := domain.Filter{Index: domain.IndexService, Value: service}
	watchers, _, err := lists.Watchers(domain.Page{Limit: -1}, mine)
	if err != nil {
		return err
	}
	for _, d := range watchers {
		c.own(domain.WatcherAdded{Watcher: d})
	}
	const page = 1000
	for offset := 0; ; offset += page {
		devices, total, err := lists.Devices(domain.Page{Offset: offset, Limit: page}, mine)
		if err != nil {
			return err
		}
		for _, d := range devices {
			c.own(domain.DeviceAdded{Device: d})
		}
		if offset+page >= total {
			return nil
		}
	}
}

func (c *Callbacks) own(e domain.Event) {
	x, _ := entityOf(e)
	c.owners.put(x.key, x.owner())
}
