package edgex

import (
	"context"
	"encoding/json"

	"ledge/domain"
)

// systemSubjects begins the subjects of the system events of devices. The action, the device service and the profile follow.
const systemSubjects = "edgex.system-events.core-metadata.device."

// systemEvent is the SystemEvent of EdgeX 2.3, in its order of fields.
type systemEvent struct {
	APIVersion string            `json:"apiVersion"`
	Type       string            `json:"type"`
	Action     string            `json:"action"`
	Source     string            `json:"source"`
	Owner      string            `json:"owner"`
	Tags       map[string]string `json:"tags"`
	Details    domain.Device     `json:"details"`
	Timestamp  int64             `json:"timestamp"` // nanoseconds since the Unix epoch
}

// RunChanges publishes a system event for each change of a device from a sequence on, in their order, until ctx ends. A nil Events
// publishes nothing.
func (e *Events) RunChanges(ctx context.Context, from uint64) error {
	if e == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return e.o.Changes.Follow(ctx, from, func(group []domain.Recorded) error {
		for _, r := range group {
			if isDeviceChange(r.Event) && e.o.Heard() {
				e.publishChange(ctx, r)
			}
		}
		return ctx.Err()
	})
}

func isDeviceChange(event domain.Event) bool {
	switch event.(type) {
	case domain.DeviceAdded, domain.DeviceUpdated, domain.DevicePatched, domain.DeviceRemoved:
		return true
	}
	return false
}

// publishChange publishes the system event of a change. If the device has moved, its former device service gets a system event first.
func (e *Events) publishChange(ctx context.Context, r domain.Recorded) {
	name := r.Event.Subject()[1]
	if before := serviceBefore(r.Event); before != "" {
		e.publish(ctx, name, func() (Message, error) { return e.systemMessage(ctx, r, before) })
	}
	e.publish(ctx, name, func() (Message, error) { return e.systemMessage(ctx, r, "") })
}

// serviceBefore returns the device service that a device has left; "" if it has not moved.
func serviceBefore(event domain.Event) (name string) {
	if p, ok := event.(domain.DevicePatched); ok {
		_ = json.Unmarshal(p.Changes["serviceName"].Was, &name) // missing if it has not changed
	}
	return name
}

// systemMessage returns the message of a change for a device service; "" stands for the device's own.
func (e *Events) systemMessage(ctx context.Context, r domain.Recorded, owner string) (m Message, err error) {
	if r, err = e.o.Whole(ctx, r); err != nil {
		return m, err
	}
	s := systemEvent{APIVersion: "v2", Type: "device", Source: "core-metadata", Owner: owner, Timestamp: r.At.UnixNano()}
	switch c := r.Event.(type) {
	case domain.DeviceAdded:
		s.Action, s.Details = "add", c.Device
	case domain.DeviceUpdated:
		s.Action, s.Details = "update", c.Device
	case domain.DeviceRemoved:
		s.Action, s.Details = "delete", c.Device
	default:
		return m, errGone
	}
	if owner == "" {
		s.Owner = s.Details.ServiceName
	}
	m.Data, err = json.Marshal(s)
	m.Subject = systemSubjects + s.Action + "." + s.Owner + "." + s.Details.ProfileName
	m.Header = headersOf(typeJSON, r.CorrelationID)
	return m, err
}
