package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
	"ledge/handlers/shapes"
)

var deviceKind = entities.Kind[domain.Device]{List: domain.ListDevices, Table: func(s domain.State) domain.Table[domain.Device] { return s.Devices }}

func (s service) deviceRoutes() []handlers.Route {
	show := func(e handlers.Envelope, d domain.Device) any { return &deviceAnswer{e, shapes.OfDevice(d)} }
	check := func(e handlers.Envelope, _ domain.Device) any { return e }
	remove := func(name string) domain.Command { return domain.RemoveDevice{Name: name} }
	byProfile, byService := handlers.By(domain.IndexProfile, "name"), handlers.By(domain.IndexService, "name")
	return []handlers.Route{
		{Method: "POST", Path: "/device", Right: domain.MayChange, Handle: handlers.Batch(s.API, s.log, "device", s.addDevice)},
		{Method: "PATCH", Path: "/device", Right: domain.MayChange, Handle: handlers.Batch(s.API, s.log, "device", s.updateDevice)},
		{Method: "GET", Path: "/device/all", Right: domain.MayRead, Handle: s.listDevices(handlers.Labels)},
		{Method: "GET", Path: "/device/profile/name/:name", Right: domain.MayRead, Handle: s.listDevices(byProfile)},
		{Method: "GET", Path: "/device/service/name/:name", Right: domain.MayRead, Handle: s.listDevices(byService)},
		{Method: "GET", Path: "/device/name/:name", Right: domain.MayRead, Handle: s.getDevice(show)},
		{Method: "GET", Path: "/device/check/name/:name", Right: domain.MayRead, Handle: s.getDevice(check)},
		{Method: "DELETE", Path: "/device/name/:name", Right: domain.MayChange, Handle: s.remove(remove)},
	}
}

func (s service) addDevice(e *shapes.AddDevice, at int64) handlers.Order {
	d := e.Device.Entity()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	command := domain.AddDevice{Device: d}
	return handlers.Order{Command: command, ID: d.ID, Problems: problems, Ask: s.askAdd(command)}
}

func (s service) updateDevice(e *shapes.UpdateDevice, at int64) handlers.Order {
	p := e.Device.Patch()
	command := domain.UpdateDevice{Patch: p, At: at}
	o := handlers.Order{Command: command, Problems: p.Check()}
	if len(o.Problems) == 0 {
		o.Ask = s.askUpdate(command)
	}
	return o
}

func (s service) getDevice(wrap func(handlers.Envelope, domain.Device) any) handlers.Handler {
	return handlers.Get(s.API, s.state, "device", "name", deviceKind.Table, wrap)
}

func (s service) listDevices(filter handlers.Filter) handlers.Handler {
	return handlers.List(s.API, s.state, deviceKind, filter, "devices", shapes.OfDevice)
}
