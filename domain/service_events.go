package domain

// ServiceAdded records a new device service.
type ServiceAdded struct {
	Service DeviceService `json:"service"`
	// Prev is the sequence of the last removal of the name; 0 for none, and in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve adds the service.
func (e ServiceAdded) Evolve(s State) {
	s.Services.Put(e.Service.Name, e.Service)
	s.IDs.Put(idKey("service", e.Service.ID), e.Service.Name)
}

// AddedID is the answer to who asked for it.
func (e ServiceAdded) AddedID() string { return e.Service.ID }

// Subject implements Event.
func (e ServiceAdded) Subject() Subject { return Subject{"service", e.Service.Name, "added"} }

// ServiceUpdated records what a device service is after a change, and names the JSON fields that differ. Versions before
// [ServicePatched] wrote it; now it is what [Whole] makes of that.
type ServiceUpdated struct {
	Service DeviceService `json:"service"`
	Changed []string      `json:"changed"`
}

// Evolve replaces the service.
func (e ServiceUpdated) Evolve(s State) { s.Services.Put(e.Service.Name, e.Service) }

// Subject implements Event.
func (e ServiceUpdated) Subject() Subject { return Subject{"service", e.Service.Name, "updated"} }

// ServiceRemoved records that a device service is gone; Service is what it last was.
type ServiceRemoved struct {
	Service DeviceService `json:"service"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve removes the service.
func (e ServiceRemoved) Evolve(s State) {
	s.Services.Delete(e.Service.Name)
	s.IDs.Delete(idKey("service", e.Service.ID))
}

// Subject implements Event.
func (e ServiceRemoved) Subject() Subject { return Subject{"service", e.Service.Name, "removed"} }
