package metadata

import (
	"context"

	"ledge/domain"
	"ledge/handlers/answers"
	"ledge/handlers/entities"
)

// askAdd has the device's service asked whether it takes the device; nil where that is Ledge itself.
func (s service) askAdd(command domain.AddDevice) func(context.Context, domain.Stamp) error {
	if s.Devices == nil || !s.Devices.IsCalled(command.Device.ServiceName) {
		return nil
	}
	return s.askAbout(command, func(domain.State) string { return "" })
}

// askUpdate has the service that the device belongs to after the change asked whether it takes it so; nil where that is
// and was Ledge itself.
func (s service) askUpdate(command domain.UpdateDevice) func(context.Context, domain.Stamp) error {
	if s.Devices == nil || !s.Devices.IsCalled(domain.DeviceREST) && s.staysHere(command.Patch) {
		return nil
	}
	return s.askAbout(command, command.Key)
}

// staysHere reports whether the device that a patch names is one of device-rest, before and after.
func (s service) staysHere(p domain.Patch[domain.Device]) bool {
	if !p.Has("name") || p.Has("serviceName") && p.Is.ServiceName != domain.DeviceREST {
		return false
	}
	view, done := s.state()
	defer done()
	var d domain.Device // a large one is looked at when there is memory for it
	return domain.GetWithin(view.State.Devices, p.Is.Name, answers.LargeBytes, &d).OK && d.ServiceName == domain.DeviceREST
}

// askAbout has a device's service asked about what a command makes of the device. Nobody is asked about a command that
// is refused anyhow, that changes nothing, or that changes only the times that the service reports. key is that of the device that is there, if there is one: there must be memory for it.
func (s service) askAbout(command domain.Command, key func(domain.State) string) func(context.Context, domain.Stamp) error {
	return func(ctx context.Context, by domain.Stamp) error {
		memory := s.AnswerMemory(ctx, by.Client())
		defer memory.Release()
		if err := entities.HoldFor(memory, s.state, entities.Devices.Table, key); err != nil {
			return err
		}
		owner, d, ok := s.wouldBe(command)
		if !ok {
			return nil
		}
		return s.Devices.ValidateDevice(ctx, owner, d, by.CorrelationID)
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
	switch e := domain.Whole(view.State, event).(type) {
	case domain.DeviceAdded:
		d = e.Device
	case domain.DeviceUpdated:
		if domain.OnlyReported(e.Changed) {
			return owner, d, false
		}
		d = e.Device
	default:
		return owner, d, false
	}
	owner, ok = view.State.Services.Get(d.ServiceName)
	return owner, d, ok
}
