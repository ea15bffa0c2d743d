package entityfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ledge/domain"
	"ledge/handlers/jsonform"
	v2 "ledge/handlers/shapes/v2"
)

// Results of an import for a device.
const (
	Added     = "added"
	Changed   = "changed"
	Unchanged = "unchanged"
	Refused   = "refused"
)

var patches = domain.PatchFormOf[v2.Device]()

// Row is one device of an import.
type Row struct {
	Entity
	What string // the result; empty before it is planned
	Says string // the reason of a refusal, the changed fields, or the keys that are ignored
}

// Plan finds the result of an import for each device. It makes the decisions of the API, but does not ask device services for validation.
type Plan struct {
	// Service and Profile are those of a new device whose text has none.
	Service, Profile string
}

// Decide plans a row on a state: it sets What and Says, and completes a new device.
func (p Plan) Decide(state domain.State, r *Row) {
	err := r.Err
	if err == nil {
		r.Says = r.Ignored
		if _, there := state.Devices.Get(r.Name); there {
			err = r.planChange(state)
		} else {
			err = r.planAddition(state, p)
		}
	}
	if err != nil {
		r.What, r.Says = Refused, err.Error()
	}
}

// Complete fills in the fields that lists of EdgeX leave out of a new device: its states, its device service and profile, and the protocol
// of device-rest. A device of CSV without protocols gets those of [domain.Device.WithProtocols]. It returns the device.
func (e *Entity) Complete(service, profile string) (domain.Device, error) {
	var d v2.Device
	if err := json.Unmarshal(e.JSON, &d); err != nil {
		return domain.Device{}, err
	}
	d.AdminState = cmp.Or(d.AdminState, domain.StateUnlocked)
	d.OperatingState = cmp.Or(d.OperatingState, domain.StateUp)
	d.ServiceName = cmp.Or(d.ServiceName, service)
	d.ProfileName = cmp.Or(d.ProfileName, profile)
	device := d.Entity()
	if e.csv {
		device = device.WithProtocols()
		if len(device.Protocols) == 0 && device.ServiceName != "" {
			const says = "is missing; add a column for the protocol of device service %q, such as protocols.modbus-tcp.Address"
			return device, domain.FieldErrorf("protocols", says, device.ServiceName)
		}
	}
	device = device.WithProtocol("rest")
	d.ProtocolName, d.Protocols = device.ProtocolName, device.Protocols
	text, err := json.Marshal(d)
	e.JSON = text
	return device, err
}

func (r *Row) planAddition(state domain.State, p Plan) error {
	device, err := r.Complete(p.Service, p.Profile)
	if err == nil && device.ProfileName == "" {
		err = domain.FieldErrorf("profileName", "is missing; give one here, or choose a device profile for new devices")
	}
	if err != nil {
		return err
	}
	device.ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", r.Position) // for the check; the service makes one
	if _, err := (domain.AddDevice{Device: device}).Decide(state); err != nil {
		return err
	}
	r.What = Added
	return nil
}

func (r *Row) planChange(state domain.State) error {
	patch, err := jsonform.DecodePatch(r.JSON, patches)
	if err != nil {
		return err
	}
	event, err := domain.UpdateDevice{Patch: domain.PatchAs(patch, v2.Device.Entity)}.Decide(state)
	if err != nil {
		return err
	}
	r.What = Unchanged
	if e, ok := event.(domain.DevicePatched); ok {
		r.What = Changed
		r.Says = strings.Join(slices.DeleteFunc([]string{strings.Join(e.Changes.Names(), ", "), r.Says}, func(s string) bool { return s == "" }), "; ")
	}
	return nil
}
