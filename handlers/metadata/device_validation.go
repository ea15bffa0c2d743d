package metadata

import (
	"context"

	"ledge/domain"
)

// askAdd has the device's service asked whether it takes the device; nil where that is Ledge itself.
func (s service) askAdd(command domain.AddDevice) func(context.Context, string) error {
	if s.Devices == nil || command.Device.ServiceName == domain.DeviceREST {
		return nil
	}
	return s.askAbout(command)
}

// askUpdate has the service that the device belongs to after the change asked whether it takes it so; nil where that is
// and was Ledge itself.
func (s service) askUpdate(command domain.UpdateDevice) func(context.Context, string) error {
	if s.Devices == nil || s.staysHere(command.Patch) {
		return nil
	}
	return s.askAbout(command)
}

// staysHere reports whether the device that a patch names is one of device-rest, before and after.
func (s service) staysHere(p domain.DevicePatch) bool {
	if p.Name == nil || p.ServiceName != nil && *p.ServiceName != domain.DeviceREST {
		return false
	}
	view, done := s.state()
	defer done()
	d, ok := view.State.Devices.Get(*p.Name)
	return ok && d.ServiceName == domain.DeviceREST
}

// askAbout has a device's service asked about what a command makes of the device. Nobody is asked about a command that
// is refused anyhow or that changes nothing.
func (s service) askAbout(command domain.Command) func(context.Context, string) error {
	return func(ctx context.Context, correlationID string) error {
		owner, d, ok := s.wouldBe(command)
		if !ok || owner.Name == domain.DeviceREST {
			return nil
		}
		return s.Devices.ValidateDevice(ctx, owner, d, correlationID)
	}
}

// wouldBe returns what a command makes of a device, with the device's service.
func (s service) wouldBe(command domain.Command) (owner domain.DeviceService, d domain.Device, ok bool) {
	view, done := s.state()
	defer done()
	event, err := command.Decide(view.State)
	if err != nil {
		return owner, d, false
	}
	switch e := event.(type) {
	case domain.DeviceAdded:
		d = e.Device
	case domain.DeviceUpdated:
		d = e.Device
	default:
		return owner, d, false
	}
	owner, ok = view.State.Services.Get(d.ServiceName)
	return owner, d, ok
}
