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
