package domain

import (
	"maps"
	"slices"
	"strings"
)

// Cleanup is a removal that was asked for and goes on in parts. It is about what was on record when it was asked for,
// that is by revision before the Cleanup's own. There is one of each kind at a time.
type Cleanup struct {
	Kind string `json:"kind"`
	// Until is the last time of what goes: the modified time of notifications and the created time of transmissions, in
	// milliseconds since the Unix epoch, the origin of data events, in nanoseconds. That of a device's events is 0: all go.
	Until int64 `json:"until"`
	// Asked is when it was asked for, in the unit of Until; 0 in old events.
	Asked int64 `json:"asked,omitempty"`
}

// Everything reports whether nothing that was on record is too young for the cleanup. Then time does not count: what was
// processed or acknowledged after the request is removed too.
func (c Cleanup) Everything() bool { return c.Asked > 0 && c.Until >= c.Asked }

// The kinds of cleanups, as EdgeX 2.3 has them. Those of notifications are on their stream, those of data events on that
// of the readings.
const (
	// CleanupAll removes notifications of any status, with their transmissions.
	CleanupAll = "all"
	// CleanupProcessed removes notifications that are PROCESSED, with their transmissions.
	CleanupProcessed = "processed"
	// CleanupTransmissions removes transmissions that are SENT, ACKNOWLEDGED or ESCALATED.
	CleanupTransmissions = "transmissions"
	// CleanupEvents removes data events with their readings.
	CleanupEvents = "events"
)

const cleanupDevice = "device:"

// CleanupDeviceEvents is the kind that removes the data events of a device with their readings.
func CleanupDeviceEvents(device string) string { return cleanupDevice + device }

// Device returns the device that a cleanup is about, if it is about one.
func (c Cleanup) Device() (name string, ok bool) { return strings.CutPrefix(c.Kind, cleanupDevice) }

// RequestCleanup asks for a cleanup.
type RequestCleanup struct{ Cleanup Cleanup }

// Decide makes no event where a cleanup of that kind until a later time goes on: what was recorded after that was asked
// for is too young for this one. Any other that goes on is a part of this one and ends with it.
func (c RequestCleanup) Decide(s State) (Event, error) {
	if going, ok := s.Cleanups.Get(c.Cleanup.Kind); ok && going.Until > c.Cleanup.Until {
		return nil, nil
	}
	return CleanupRequested(c), nil
}

// CleanupRequested records that a cleanup has begun.
type CleanupRequested struct {
	Cleanup Cleanup `json:"cleanup"`
}

// Evolve keeps the cleanup until it is finished.
func (e CleanupRequested) Evolve(s State) { s.Cleanups.Put(e.Cleanup.Kind, e.Cleanup) }

// Subject implements Event.
func (e CleanupRequested) Subject() Subject { return Subject{"cleanup", e.Cleanup.Kind, "requested"} }

// CleanUp removes a part of what a cleanup is about: notifications and transmissions, or data events; or of what retention
// removes, and then it is Rule that says why, and Kind is empty.
type CleanUp struct {
	Kind, Rule                               string
	Notifications, Transmissions, DataEvents []Removal
}

// Empty reports whether nothing is left of what a cleanup is about.
func (c CleanUp) Empty() bool {
	return len(c.Notifications) == 0 && len(c.Transmissions) == 0 && len(c.DataEvents) == 0
}

// Decide leaves out what has changed since it was read, or is gone.
func (c CleanUp) Decide(s State) (Event, error) {
	if len(c.DataEvents) > 0 {
		return removeDataEvents(s, DataEventsRemoved{Cleanup: c.Kind, Rule: c.Rule}, c.DataEvents)
	}
	e := NotificationsRemoved{Cleanup: c.Kind, Rule: c.Rule}
	for _, r := range c.Notifications {
		if r.Revision == Revision(s.Notifications, r.ID) {
			e.add(r)
		}
	}
	for _, r := range c.Transmissions {
		if r.Revision == Revision(s.Transmissions, r.ID) {
			e.Transmissions = append(e.Transmissions, r.ID)
		}
	}
	if len(e.Notifications) == 0 && len(e.Transmissions) == 0 {
		return nil, nil
	}
	return e, nil
}

// FinishCleanup says that nothing is left of what a cleanup at Revision is about.
type FinishCleanup struct {
	Kind     string
	Revision uint64
}

// Decide makes no event where the cleanup is finished already, or another of its kind has taken over.
func (c FinishCleanup) Decide(s State) (Event, error) {
	if _, ok := s.Cleanups.Get(c.Kind); !ok || Revision(s.Cleanups, c.Kind) != c.Revision {
		return nil, nil
	}
	return CleanupFinished{Kind: c.Kind}, nil
}

// CleanupFinished records that a cleanup has ended.
type CleanupFinished struct {
	Kind string `json:"kind"`
}

// Evolve forgets the cleanup.
func (e CleanupFinished) Evolve(s State) { s.Cleanups.Delete(e.Kind) }

// MakesRoom reports whether e is of a removal, or of limits for removals. If the disk is full, the log takes such an event and refuses
// others.
func MakesRoom(e Event) bool {
	switch e.(type) {
	case CleanupRequested, CleanupFinished, NotificationsRemoved, DataEventsRemoved, RetentionSet:
		return true
	}
	return false
}

// Subject implements Event.
func (e CleanupFinished) Subject() Subject { return Subject{"cleanup", e.Kind, "finished"} }

// retentionSettings are the settings that [SetRetention] takes.
var retentionSettings = []string{
	"readings-max-bytes", "readings-max-age", "readings-retention", "notifications-max-bytes", "notifications-max-age",
}

// RetentionSettings returns the names of the settings that an administrator can set while Ledge runs.
func RetentionSettings() []string { return slices.Clone(retentionSettings) }

// mostRetention bounds the value of such a setting, in bytes.
const mostRetention = 16 << 10

// SetRetention gives settings of retention other values than the configuration, by their names. With an empty value the configuration
// applies again. The caller checks the values.
type SetRetention struct{ Values map[string]string }

// Decide refuses other settings. Values that are set already make no event.
func (c SetRetention) Decide(s State) (Event, error) {
	var p Problems
	changed := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		value := c.Values[name]
		switch {
		case !slices.Contains(retentionSettings, name):
			p.Add(quote(name), "is not a setting of retention; use one of %s", strings.Join(retentionSettings, ", "))
		case len(value) > mostRetention:
			p.Add(name, "is %d bytes long; use at most %d", len(value), mostRetention)
		}
		if old, _ := s.IDs.Get(retentionPrefix + name); old != value {
			changed[name] = value
		}
	}
	if err := p.Err(); err != nil || len(changed) == 0 {
		return nil, err
	}
	return RetentionSet{changed}, nil
}

// RetentionSet records values of settings of retention, which replace those of the configuration. An empty value ends that.
type RetentionSet struct {
	Values map[string]string `json:"values"`
}

const retentionPrefix = "retention/"

// Evolve keeps the values.
func (e RetentionSet) Evolve(s State) {
	for name, value := range e.Values {
		if value == "" {
			s.IDs.Delete(retentionPrefix + name)
		} else {
			s.IDs.Put(retentionPrefix+name, value)
		}
	}
}

// Subject implements Event.
func (RetentionSet) Subject() Subject { return Subject{"retention", "ledge", "set"} }

// RetentionOf returns the values of settings of retention that replace those of the configuration.
func RetentionOf(s State) map[string]string {
	values := map[string]string{}
	for _, name := range retentionSettings {
		if value, ok := s.IDs.Get(retentionPrefix + name); ok {
			values[name] = value
		}
	}
	return values
}
