package domain

// Check notes what is wrong with a device service.
func (d DeviceService) Check() Problems {
	var p Problems
	p.checkID("id", d.ID)
	p.checkName("name", d.Name)
	p.checkURL("baseAddress", d.BaseAddress)
	p.checkOneOf("adminState", d.AdminState, StateLocked, StateUnlocked)
	return p
}

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
	return ServiceAdded(c), nil
}

// ServicePatch changes the fields that are not nil of the device service that ID or Name, or both, name.
type ServicePatch struct {
	ID            *string  `json:"id"`
	Name          *string  `json:"name"`
	Description   *string  `json:"description"`
	LastConnected *int64   `json:"lastConnected"`
	LastReported  *int64   `json:"lastReported"`
	Labels        []string `json:"labels"`
	BaseAddress   *string  `json:"baseAddress"`
	AdminState    *string  `json:"adminState"`
}

// Apply returns d with the patch's fields.
func (c ServicePatch) Apply(d DeviceService) DeviceService {
	set(&d.Description, c.Description)
	set(&d.LastConnected, c.LastConnected)
	set(&d.LastReported, c.LastReported)
	set(&d.BaseAddress, c.BaseAddress)
	set(&d.AdminState, c.AdminState)
	if c.Labels != nil {
		d.Labels = c.Labels
	}
	return d
}

// Check notes what is wrong with the patch before the service is known.
func (c ServicePatch) Check() Problems {
	var p Problems
	p.checkTarget(c.ID, c.Name)
	optional(&p, "baseAddress", c.BaseAddress, (*Problems).checkURL)
	optional(&p, "adminState", c.AdminState, func(p *Problems, path, v string) {
		p.checkOneOf(path, v, StateLocked, StateUnlocked)
	})
	return p
}

// UpdateService patches a device service. At is the new modified time, in milliseconds since the Unix epoch.
type UpdateService struct {
	Patch ServicePatch
	At    int64
}

// Decide refuses a patch that is wrong or that names no service; one that changes nothing makes no event.
func (c UpdateService) Decide(s State) (Event, error) {
	if err := c.Patch.Check().Err(); err != nil {
		return nil, err
	}
	old, err := find(s, "service", c.Patch.ID, c.Patch.Name, s.Services)
	if err != nil {
		return nil, err
	}
	d := c.Patch.Apply(old)
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
	return ServiceRemoved{Service: d}, nil
}
