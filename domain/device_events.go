package domain

import (
	"encoding/json"
	"slices"
	"strconv"
)

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
	s.IDs.Delete(lastCommandKey(e.Device.Name))
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

// CommandIssued records a command that was issued to a device, with its outcome.
type CommandIssued struct {
	Device  string `json:"device"`
	Service string `json:"service"` // the device service
	Command string `json:"command"`
	// Value is the JSON object with the values by resource; empty for none. A value that the profile hides is replaced.
	Value json.RawMessage `json:"value,omitempty"`
	// Status is the HTTP status of the answer, and Message its message, empty for a success and for a command with hidden values.
	Status  int    `json:"status"`
	Message string `json:"message,omitempty"`
	// Prev is the sequence of the event of the device's command before; 0 for the first.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve does nothing: Evolve of a Recorded event notes the last command of each device.
func (e CommandIssued) Evolve(State) {}

// noteAt notes the command as the last one of its device. seq is the sequence of its event.
func (e CommandIssued) noteAt(s State, seq uint64) {
	if _, ok := s.Devices.Get(e.Device); ok { // it may have been removed while the command was under way
		s.IDs.Put(lastCommandKey(e.Device), number(seq))
	}
}

// Subject implements Event.
func (e CommandIssued) Subject() Subject { return Subject{"command", e.Device, "issued"} }

func (e CommandIssued) free() bool { return len(e.Value) > 0 }

func (e CommandIssued) room() int { return usualEvent + len(e.Value) + len(e.Message) }

// LastCommand returns the sequence of the event of the last command that was issued to a device; 0 for none.
func LastCommand(s State, device string) uint64 {
	text, _ := s.IDs.Get(lastCommandKey(device))
	seq, _ := strconv.ParseUint(text, 10, 64)
	return seq
}

// lastCommandKey is the key in State.IDs of the last command of a device.
func lastCommandKey(device string) string { return "command/" + device }
