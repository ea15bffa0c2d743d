package domain

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// DeviceAdded records a new device.
type DeviceAdded struct {
	Device Device `json:"device"`
	// Prev is the sequence of the last removal of the name; 0 for none, and in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
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
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
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

// CommandTimeout is how long a command to a device may take, with its wait, as in EdgeX 2.3.
const CommandTimeout = 45 * time.Second

// CommandIssued records a command to a device before it is sent. [CommandAnswered] has its outcome. A command that Ledge refuses is not
// sent: its event has the refusal, and no other event follows. Version 1 has the outcome of each command, sent or not.
type CommandIssued struct {
	Device  string `json:"device"`
	Service string `json:"service"` // the device service
	Command string `json:"command"`
	// Value is the JSON object with the values by resource; empty for none. A value that the profile hides is replaced.
	Value json.RawMessage `json:"value,omitempty"`
	// Status is the HTTP status of a refusal, and Message its message. A command that is sent has neither.
	Status  int    `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	// Prev is the sequence of the event before it of the device's commands; 0 for the first.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve does nothing: Evolve of a Recorded event notes the last event of the commands of each device, and the open commands.
func (e CommandIssued) Evolve(State) {}

// noteAt notes the event as the last one of its device. A command that is sent is open until it has an outcome. seq is the sequence of the
// event.
func (e CommandIssued) noteAt(s State, seq uint64) {
	noteLastCommand(s, e.Device, seq)
	if e.Status == 0 {
		s.IDs.Put(openCommandKey(seq), e.Device)
	}
}

// Subject implements Event.
func (e CommandIssued) Subject() Subject { return Subject{"command", e.Device, "issued"} }

func (e CommandIssued) free() bool { return len(e.Value) > 0 }

func (e CommandIssued) room() int { return usualEvent + len(e.Value) + len(e.Message) }

// CommandAnswered records the outcome of a command that was sent.
type CommandAnswered struct {
	Device  string `json:"device"`
	Command string `json:"command"`
	// Issued is the sequence of the command's event.
	Issued uint64 `json:"issued"`
	// Status is the HTTP status of the answer, and Message its message, empty for a success and for a command with hidden values.
	Status  int    `json:"status"`
	Message string `json:"message,omitempty"`
	// Prev is the sequence of the event before it of the device's commands; 0 if the device was removed meanwhile.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve does nothing, as for CommandIssued.
func (e CommandAnswered) Evolve(State) {}

// noteAt notes the event as the last one of its device, and that its command is not open any more.
func (e CommandAnswered) noteAt(s State, seq uint64) {
	noteLastCommand(s, e.Device, seq)
	s.IDs.Delete(openCommandKey(e.Issued))
}

// Subject implements Event.
func (e CommandAnswered) Subject() Subject { return Subject{"command", e.Device, "answered"} }

func (e CommandAnswered) room() int { return usualEvent + len(e.Message) }

// noteLastCommand notes the last event of a device's commands, unless the device was removed while a command was under way.
func noteLastCommand(s State, device string, seq uint64) {
	if _, ok := s.Devices.Get(device); ok {
		s.IDs.Put(lastCommandKey(device), number(seq))
	}
}

// LastCommand returns the sequence of the last event of a device's commands; 0 for none.
func LastCommand(s State, device string) uint64 {
	text, _ := s.IDs.Get(lastCommandKey(device))
	seq, _ := strconv.ParseUint(text, 10, 64)
	return seq
}

// IsOpenCommand reports whether the command whose event has a sequence was sent and has no outcome on record.
func IsOpenCommand(s State, seq uint64) bool {
	_, ok := s.IDs.Get(openCommandKey(seq))
	return ok
}

// lastCommandKey is the key in State.IDs of the last event of a device's commands.
func lastCommandKey(device string) string { return "command/" + device }

// openCommandKey is the key in State.IDs of an open command.
func openCommandKey(seq uint64) string { return "open/" + number(seq) }
