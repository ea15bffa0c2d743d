package domain

// AddService adds a device service. Service carries its id and times.
type AddService struct{ Service DeviceService }

// Decide refuses a service that is wrong in itself or whose name or id is taken.
func (c AddService) Decide(s State) (Event, error) {
	if err := c.Service.Check().Err(); err != nil {
		return nil, err
	}
	if err := checkFree(s, "service", c.Service.Name, c.Service.ID, has(s.Services)); err != nil {
		return nil, err
	}
	return ServiceAdded{c.Service, lastRemoval(s, "service", c.Service.Name)}, nil
}

// UpdateService patches a device service. At is the new modified time, in milliseconds since the Unix epoch.
type UpdateService struct {
	Patch Patch[DeviceService]
	At    int64
}

// Decide refuses a patch that is wrong or that names no service; one that changes nothing makes no event.
func (c UpdateService) Decide(s State) (Event, error) {
	old, d, err := patchEntity(s, "service", c.Patch, s.Services)
	if err != nil {
		return nil, err
	}
	u, ok, err := updateOf(s.Services, d.Name, old, d, c.At)
	if !ok || err != nil {
		return nil, err
	}
	return ServicePatched{u}, nil
}

// RemoveService removes the device service called Name.
type RemoveService struct{ Name string }

// Decide refuses a name that does not exist, and a service that devices or provision watchers still use.
func (c RemoveService) Decide(s State) (Event, error) {
	d, ok := s.Services.Get(c.Name)
	if !ok {
		return nil, Errorf(NotFound, "service %q does not exist; correct the name", c.Name)
	}
	if err := checkUnused(s, "service", c.Name); err != nil {
		return nil, err
	}
	return ServiceRemoved{d, Revision(s.Services, d.Name)}, nil
}
