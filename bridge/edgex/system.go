package edgex

import (
	"context"
	"encoding/json"
	"slices"

	"ledge/domain"
)

// systemSubjects begins the subjects of system events. The type, the action, the owner and the profile follow, if there is a profile.
const systemSubjects = "edgex.system-events.core-metadata."

// coreMetadata is the source of system events.
const coreMetadata = "core-metadata"

// The types and the actions of system events.
const (
	deviceType, profileType, serviceType, watcherType = "device", "deviceprofile", "deviceservice", "provisionwatcher"
	addAction, updateAction, deleteAction             = "add", "update", "delete"
)

// systemEvent is the SystemEvent of EdgeX, in its order of fields.
type systemEvent struct {
	APIVersion string            `json:"apiVersion"`
	Type       string            `json:"type"`
	Action     string            `json:"action"`
	Source     string            `json:"source"`
	Owner      string            `json:"owner"`
	Tags       map[string]string `json:"tags"`
	Details    any               `json:"details"`
	Timestamp  int64             `json:"timestamp"` // nanoseconds since the Unix epoch
}

// change is the content of the system events of a change. Each owner has a system event of its own.
type change struct {
	kind, action string
	owners       []string
	profile      string // the last level of the topic; "" if there is none
	details      any
}

// RunChanges publishes system events for each change of an entity from a sequence on, in their order, until ctx ends. API v2 has only those
// of devices. A nil Events publishes nothing.
func (e *Events) RunChanges(ctx context.Context, from uint64) error {
	if e == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return e.o.Changes.Follow(ctx, from, func(group []domain.Recorded) error {
		for _, r := range group {
			if e.isPublished(r.Event) && e.o.Heard() {
				e.publish(ctx, r.Event.Subject()[1], func() ([]Message, error) { return e.systemMessages(ctx, r) })
			}
		}
		return ctx.Err()
	})
}

// isPublished reports whether an event has system events. Changes of lastConnected and lastReported alone are left out in API v3,
// which has neither.
func (e *Events) isPublished(event domain.Event) bool {
	var changed []string
	switch c := event.(type) {
	case domain.DeviceAdded, domain.DeviceRemoved:
		return true
	case domain.DeviceUpdated:
		changed = c.Changed
	case domain.DevicePatched:
		changed = c.Changes.Names()
	case domain.ServiceUpdated:
		changed = c.Changed
	case domain.ServicePatched:
		changed = c.Changes.Names()
	case domain.ProfileAdded, domain.ProfileUpdated, domain.ProfilePatched, domain.ProfileRemoved,
		domain.ServiceAdded, domain.ServiceRemoved,
		domain.WatcherAdded, domain.WatcherUpdated, domain.WatcherPatched, domain.WatcherRemoved:
		return e.o.V3
	default:
		return false
	}
	if !e.o.V3 {
		return event.Subject()[0] == "device"
	}
	return !domain.OnlyReported(changed)
}

// systemMessages returns the messages of a change.
func (e *Events) systemMessages(ctx context.Context, r domain.Recorded) (messages []Message, err error) {
	before := serviceBefore(r.Event)
	if r, err = e.o.Whole(ctx, r); err != nil {
		return nil, err
	}
	c, err := e.changeOf(r.Event)
	if err != nil {
		return nil, err
	}
	if before != "" {
		c.owners = append([]string{before}, c.owners...)
	}
	for _, owner := range c.owners {
		s := systemEvent{e.version(), c.kind, c.action, coreMetadata, owner, nil, c.details, r.At.UnixNano()}
		m := Message{Subject: systemSubjects + c.kind + "." + c.action + "." + owner, Header: e.headersOf(typeJSON, r.CorrelationID)}
		if c.profile != "" {
			m.Subject += "." + c.profile
		}
		if m.Data, err = json.Marshal(s); err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// serviceBefore returns the device service that a device or a provision watcher has left; "" if it has not moved.
func serviceBefore(event domain.Event) (name string) {
	var changes domain.Changes
	switch p := event.(type) {
	case domain.DevicePatched:
		changes = p.Changes
	case domain.WatcherPatched:
		changes = p.Changes
	}
	_ = json.Unmarshal(changes["serviceName"].Was, &name) // missing if it has not changed
	return name
}

// changeOf returns the content of the system events of an event with a whole entity.
func (e *Events) changeOf(event domain.Event) (c change, err error) {
	switch x := event.(type) {
	case domain.DeviceAdded:
		c = e.changedDevice(addAction, x.Device)
	case domain.DeviceUpdated:
		c = e.changedDevice(updateAction, x.Device)
	case domain.DeviceRemoved:
		c = e.changedDevice(deleteAction, x.Device)
	case domain.ProfileAdded:
		c = changedProfile(addAction, x.Profile)
	case domain.ProfileUpdated:
		c = changedProfile(updateAction, x.Profile)
		var services []string
		services, err = e.servicesWith(x.Profile.Name)
		c.owners = append(c.owners, services...)
	case domain.ProfileRemoved:
		c = changedProfile(deleteAction, x.Profile)
	case domain.ServiceAdded:
		c = changedService(addAction, x.Service)
	case domain.ServiceUpdated:
		c = changedService(updateAction, x.Service)
	case domain.ServiceRemoved:
		c = changedService(deleteAction, x.Service)
	case domain.WatcherAdded:
		c = changedWatcher(addAction, x.Watcher)
	case domain.WatcherUpdated:
		c = changedWatcher(updateAction, x.Watcher)
	case domain.WatcherRemoved:
		c = changedWatcher(deleteAction, x.Watcher)
	default:
		err = errGone
	}
	return c, err
}

func (e *Events) changedDevice(action string, d domain.Device) change {
	c := change{deviceType, action, []string{d.ServiceName}, d.ProfileName, d}
	if e.o.V3 {
		c.details = deviceV3(d)
	}
	return c
}

func changedProfile(action string, p domain.Profile) change {
	return change{profileType, action, []string{coreMetadata}, p.Name, profileV3(p)}
}

func changedService(action string, s domain.DeviceService) change {
	return change{serviceType, action, []string{s.Name}, "", serviceV3(s)}
}

func changedWatcher(action string, w domain.ProvisionWatcher) change {
	return change{watcherType, action, []string{w.ServiceName}, w.ProfileName, watcherV3(w)}
}

// serviceOf returns the device service of a device. An event may be posted for an unknown device; its service is then core-data.
func (e *Events) serviceOf(device string) (name string, err error) {
	err = e.o.Read(func(v domain.View) error {
		d, _ := v.State.Devices.Get(device)
		name = d.ServiceName
		return nil
	})
	if name == "" {
		name = "core-data"
	}
	return name, err
}

// servicesWith returns the device services that have devices with a profile, by name.
func (e *Events) servicesWith(profile string) (names []string, err error) {
	err = e.o.Read(func(v domain.View) error {
		names = nil
		all, _, err := v.Lists.Services(domain.Page{Limit: -1})
		if err != nil {
			return err
		}
		for _, s := range all {
			_, total, err := v.Lists.Keys(domain.ListDevices, domain.Page{Limit: 1},
				domain.Filter{Index: domain.IndexProfile, Value: profile}, domain.Filter{Index: domain.IndexService, Value: s.Name})
			if err != nil {
				return err
			}
			if total > 0 {
				names = append(names, s.Name)
			}
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}
