package domain

// ServiceAdded records a new device service.
type ServiceAdded struct {
	Service DeviceService `json:"service"`
}

// Evolve adds the service.
func (e ServiceAdded) Evolve(s State) {
	s.Services.Put(e.Service.Name, e.Service)
	s.IDs.Put(idKey("service", e.Service.ID), e.Service.Name)
}

// Subject implements Event.
func (e ServiceAdded) Subject() Subject { return Subject{"service", e.Service.Name, "added"} }
