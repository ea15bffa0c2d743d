package deviceimport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ledge/domain"
	"ledge/handlers/jsonform"
	"ledge/handlers/shapes/v2"
)

var patches = domain.PatchFormOf[v2.Device]()

// Plan finds what an import does with each device. It makes the decisions of the API, but does not ask device services for validation.
type Plan struct {
	// Service and Profile are those of a new device whose text has none.
	Service, Profile string

	seen map[string]int // position by name
}

// Add plans rows on a state: it sets their Name, What, Says and the Device to send.
func (p *Plan) Add(state domain.State, rows []Row) {
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	for i := range rows {
		if err := p.row(state, &rows[i]); err != nil {
			rows[i].What, rows[i].Says = Refused, err.Error()
		}
	}
}

func (p *Plan) row(state domain.State, r *Row) error {
	device, err := jsonform.Decode[v2.Device](r.Device, jsonform.JSON)
	if err != nil {
		return err
	}
	r.Name = device.Name
	if first := p.seen[r.Name]; first > 0 {
		return domain.Errorf(domain.Invalid, "device %d has the same name; leave one out", first)
	}
	if r.Name != "" {
		p.seen[r.Name] = r.Position
	}
	r.Says = jsonform.IgnoredKeys[v2.Device](r.Device)
	if _, there := state.Devices.Get(r.Name); there {
		return r.change(state)
	}
	return p.add(state, r, device.Entity())
}

// Complete fills in what lists of EdgeX leave out of a new device: its states, its device service and profile, and the protocol of device-rest.
func Complete(entity domain.Device, service, profile string) domain.Device {
	entity.AdminState = cmp.Or(entity.AdminState, domain.StateUnlocked)
	entity.OperatingState = cmp.Or(entity.OperatingState, domain.StateUp)
	entity.ServiceName = cmp.Or(entity.ServiceName, service)
	entity.ProfileName = cmp.Or(entity.ProfileName, profile)
	if entity.ProtocolName == "" && entity.ServiceName == domain.DeviceREST {
		entity.ProtocolName = "rest"
	}
	return entity
}

func (p *Plan) add(state domain.State, r *Row, entity domain.Device) error {
	entity = Complete(entity, p.Service, p.Profile)
	shape := v2.Device(entity)
	if entity.ID == "" {
		entity.ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", r.Position) // for the check; the service makes one
	}
	if _, err := (domain.AddDevice{Device: entity}).Decide(state); err != nil {
		return err
	}
	text, err := json.Marshal(shape)
	r.What, r.Device = Added, text
	return err
}

func (r *Row) change(state domain.State) error {
	patch, err := jsonform.DecodePatch(r.Device, patches)
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
