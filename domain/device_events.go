package domain

import "slices"

// DeviceAdded records a new device.
type DeviceAdded struct {
	Device Device `json:"device"`
}

// Evolve adds the device and counts it at its profile and service.
func (e DeviceAdded) Evolve(s State) {
	s.Devices.Put(e.Device.Name, e.Device)
	s.IDs.Put(idKey("device", e.Device.ID), e.Device.Name)
	count(s, e.Device, +1)
}

// AddedID is the answer to who asked for it.
func (e DeviceAdded) AddedID() string { return e.Device.ID }

// Subject implements Event.
func (e DeviceAdded) Subject() Subject { return Subject{"device", e.Device.Name, "added"} }

// DeviceUpdated records what a device is after a change, and names the JSON fields that differ. Versions before
// [DevicePatched] wrote it; now it is what [Whole] makes of that.
type DeviceUpdated struct {
	Device  Device   `json:"device"`
	Changed []string `json:"changed"`
}

// Evolve replaces the device.
func (e DeviceUpdated) Evolve(s State) {
	if moved(e.Changed) {
		if old, ok := s.Devices.Get(e.Device.Name); ok {
			count(s, old, -1)
		}
		count(s, e.Device, +1)
	}
	s.Devices.Put(e.Device.Name, e.Device)
}

// moved reports whether a change is one of the profile or the service: else what they count stays, and what was there
// need not be read.
func moved(changed []string) bool {
	return slices.Contains(changed, "profileName") || slices.Contains(changed, "serviceName")
}

// Subject implements Event.
func (e DeviceUpdated) Subject() Subject { return Subject{"device", e.Device.Name, "updated"} }

// DeviceRemoved records that a device is gone; Device is what it last was.
type DeviceRemoved struct {
	Device Device `json:"device"`
}

// Evolve removes the device.
func (e DeviceRemoved) Evolve(s State) {
	s.Devices.Delete(e.Device.Name)
	s.IDs.Delete(idKey("device", e.Device.ID))
	count(s, e.Device, -1)
}

// Subject implements Event.
func (e DeviceRemoved) Subject() Subject { return Subject{"device", e.Device.Name, "removed"} }

func count(s State, d Device, by int) { countUses(s, d.ProfileName, d.ServiceName, by) }

// countUses counts what names a profile and a service.
func countUses(s State, profile, service string, by int) {
	for _, key := range []string{"profile/" + profile, "service/" + service} {
		addUses(s, key, by)
	}
}

// addUses adds to one count of Uses, which has none that is 0.
func addUses(s State, key string, by int) {
	n, _ := s.Uses.Get(key)
	if n += by; n > 0 {
		s.Uses.Put(key, n)
	} else {
		s.Uses.Delete(key)
	}
}
