package devicerest

import (
	"ledge/domain"
	"ledge/handlers/answers"
)

// What the readWrite of a resource or a command says where only one of both is possible.
const (
	readOnly  = "R"
	writeOnly = "W"
)

// device returns a device of this service with its profile, for which there is memory where they are large. A device that check
// refuses is an error, and so is every device where the service itself is LOCKED; nil checks neither.
func (s service) device(memory *answers.Memory, name string, check deviceCheck) (d domain.Device, p domain.Profile, err error) {
	for most := 0; ; {
		d, p = domain.Device{}, domain.Profile{}
		size, err := s.look(name, check, most, &d, &p)
		if size <= most || err != nil {
			return d, p, err
		}
		if err := memory.Hold(int64(size)); err != nil { // no view is open while it waits
			return d, p, err
		}
		most = size
	}
}

// look reads a device and its profile, under one view. Where those of them that are large take more than most bytes together, it returns how many.
func (s service) look(name string, check deviceCheck, most int, d *domain.Device, p *domain.Profile) (size int, err error) {
	view, done := s.state()
	defer done()
	if check != nil {
		if err := checkService(view.State); err != nil {
			return 0, err
		}
	}
	row := domain.GetWithin(view.State.Devices, name, max(most, answers.LargeBytes), d)
	if row.Size > answers.LargeBytes {
		size = row.Size
	}
	if !row.OK && size > 0 {
		return size, nil
	}
	if !row.OK {
		return 0, domain.Errorf(domain.NotFound, "Device '%s' not found; add it at core-metadata first or correct the device name", shorten(name))
	}
	if d.ServiceName != domain.DeviceREST {
		return 0, domain.Errorf(domain.NotFound, "Device '%s' not found: its serviceName is '%s'; change that to '%s' or correct the device name", name, d.ServiceName, domain.DeviceREST)
	}
	if check != nil {
		if err := check(*d); err != nil {
			return 0, err
		}
	}
	if row = domain.GetWithin(view.State.Profiles, d.ProfileName, max(most-size, answers.LargeBytes), p); row.Size > answers.LargeBytes {
		size += row.Size
	}
	return size, nil
}

func checkService(s domain.State) error {
	if d, _ := s.Services.Get(domain.DeviceREST); d.AdminState == domain.StateLocked {
		return domain.Errorf(domain.Locked, "Device service '%s' is LOCKED; set its adminState to UNLOCKED at core-metadata", domain.DeviceREST)
	}
	return nil
}

// deviceCheck returns why a device's state forbids a request.
type deviceCheck func(domain.Device) error

// checkLocked is for values that are posted: a device that is DOWN may send them. Else one value that fails its assertion would stop all others.
func checkLocked(d domain.Device) error {
	if d.AdminState == domain.StateLocked {
		return domain.Errorf(domain.Locked, "Device '%s' is LOCKED; set its adminState to UNLOCKED at core-metadata", d.Name)
	}
	return nil
}

// checkUsable is for commands, in the order of EdgeX's SDK.
func checkUsable(d domain.Device) error {
	if err := checkLocked(d); err != nil {
		return err
	}
	if d.OperatingState == domain.StateDown {
		return domain.Errorf(domain.Locked, "Device '%s' is DOWN; set its operatingState to UP at core-metadata", d.Name)
	}
	return nil
}

func shorten(name string) string {
	if len(name) > domain.MaxName {
		return name[:domain.MaxName] + "…"
	}
	return name
}
