package devicerest

import "ledge/domain"

// What the readWrite of a resource or a command says where only one of both is possible.
const (
	readOnly  = "R"
	writeOnly = "W"
)

// device returns a device of this service with its profile. With check, a device that is LOCKED or DOWN is refused, in the
// order of EdgeX's SDK, and every device where the service itself is LOCKED.
func (s service) device(name string, check bool) (d domain.Device, p domain.Profile, err error) {
	view, done := s.state()
	defer done()
	if check {
		if err := checkService(view.State); err != nil {
			return d, p, err
		}
	}
	d, ok := view.State.Devices.Get(name)
	if !ok {
		return d, p, domain.Errorf(domain.NotFound, "Device '%s' not found; add it at core-metadata first or correct the device name", shorten(name))
	}
	if d.ServiceName != domain.DeviceREST {
		return d, p, domain.Errorf(domain.NotFound, "Device '%s' not found: its serviceName is '%s'; change that to '%s' or correct the device name", name, d.ServiceName, domain.DeviceREST)
	}
	if check {
		if err := checkDevice(d); err != nil {
			return d, p, err
		}
	}
	p, _ = view.State.Profiles.Get(d.ProfileName)
	return d, p, nil
}

func checkService(s domain.State) error {
	if d, _ := s.Services.Get(domain.DeviceREST); d.AdminState == domain.StateLocked {
		return domain.Errorf(domain.Locked, "Device service '%s' is LOCKED; set its adminState to UNLOCKED at core-metadata", domain.DeviceREST)
	}
	return nil
}

func checkDevice(d domain.Device) error {
	switch {
	case d.AdminState == domain.StateLocked:
		return domain.Errorf(domain.Locked, "Device '%s' is LOCKED; set its adminState to UNLOCKED at core-metadata", d.Name)
	case d.OperatingState == domain.StateDown:
		return domain.Errorf(domain.Locked, "Device '%s' is DOWN; set its operatingState to UP at core-metadata", d.Name)
	default:
		return nil
	}
}

func shorten(name string) string {
	if len(name) > domain.MaxName {
		return name[:domain.MaxName] + "…"
	}
	return name
}
