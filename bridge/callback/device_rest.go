package callback

import (
	"fmt"
	"log/slog"

	"ledge/domain"
)

// IsCalled reports whether device services of a name are called: all but device-rest, and that one too if another program is device-rest.
func (c *Callbacks) IsCalled(name string) bool { return c.owners.isCalled(name) }

// switchREST starts the calls of device-rest if an event gives it the address of another program, and ends them if it has an address of
// Ledge again. The owners of its devices are read as of a moment after the event. The other program reads its devices itself at its start.
func switchREST(c *Callbacks, e domain.Event) error {
	d, there := domain.DeviceService{}, false
	switch e := e.(type) {
	case domain.ServiceAdded:
		d, there = e.Service, true
	case domain.ServiceUpdated:
		d, there = e.Service, true
	case domain.ServiceRemoved:
		d = e.Service
	}
	if d.Name != domain.DeviceREST {
		return nil
	}
	elsewhere := there && !d.IsBuiltIn(c.Guard.IsOwnURL)
	if elsewhere == c.owners.elsewhere.Load() || c.Lists == nil {
		return nil
	}
	c.owners.elsewhere.Store(elsewhere)
	if !elsewhere {
		leaveREST(c)
		return nil
	}
	err := c.Lists(func(lists domain.Lists) error { return c.owners.load(lists, domain.DeviceREST) })
	if err != nil {
		return fmt.Errorf("list the devices of device-rest: %w", err)
	}
	logElsewhere(c.Logger, d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.address(d)
	return nil
}

// leaveREST drops the calls that wait for device-rest, and the owners of its devices.
func leaveREST(c *Callbacks) {
	c.owners.leave(domain.DeviceREST)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.services[domain.DeviceREST]; s != nil {
		s.removed = true
		s.drop(len(s.waiting))
		clear(s.last)
		c.forget(s)
		c.position.moved = true
	}
}

// logElsewhere logs that another program is device-rest.
func logElsewhere(logger *slog.Logger, d domain.DeviceService) {
	const says = "device-rest is another program, and is called at its address; to end that, give it the address of Ledge's device-rest"
	logger.Info(says, "baseAddress", d.BaseAddress)
}
