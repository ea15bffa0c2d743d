package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
)

// deviceAnswer answers with a device in the shape S.
type deviceAnswer[S any] struct {
	handlers.Envelope
	Device S `json:"device"`
}

// deviceRoutes serve devices in the shape S of a version of the API. show returns the shape of a device.
func deviceRoutes[S interface{ Entity() domain.Device }](s service, show func(domain.Device) S) []handlers.Route {
	add := handlers.BatchOf(s.API, s.log, handlers.EntityIn[S]("device"), func(d *S, at int64) handlers.Order {
		return s.addDevice((*d).Entity(), at)
	})
	update := handlers.BatchOf(s.API, s.log, handlers.PatchIn[S]("device"), func(p domain.Patch[S], at int64) handlers.Order {
		return s.updateDevice(domain.PatchAs(p, S.Entity), at)
	})
	get := func(wrap func(handlers.Envelope, domain.Device) any) handlers.Handler {
		return handlers.Get(s.API, s.state, "device", "name", entities.Devices, wrap)
	}
	list := func(filter handlers.Filter) handlers.Handler {
		return handlers.List(s.API, s.state, entities.Devices, filter, "devices", show)
	}
	whole := func(e handlers.Envelope, d domain.Device) any { return &deviceAnswer[S]{e, show(d)} }
	check := func(e handlers.Envelope, _ domain.Device) any { return e }
	remove := func(name string) domain.Command { return domain.RemoveDevice{Name: name} }
	byProfile, byService := handlers.By(domain.IndexProfile, "name"), handlers.By(domain.IndexService, "name")
	return []handlers.Route{
		{Method: "POST", Path: "/device", Right: domain.MayServe, Handle: add},
		{Method: "PATCH", Path: "/device", Right: domain.MayServe, Handle: update},
		{Method: "GET", Path: "/device/all", Right: domain.MayRead, Handle: list(handlers.Labels)},
		{Method: "GET", Path: "/device/profile/name/:name", Right: domain.MayRead, Handle: list(byProfile)},
		{Method: "GET", Path: "/device/service/name/:name", Right: domain.MayRead, Handle: list(byService)},
		{Method: "GET", Path: "/device/name/:name", Right: domain.MayRead, Handle: get(whole)},
		{Method: "GET", Path: "/device/check/name/:name", Right: domain.MayRead, Handle: get(check)},
		{Method: "DELETE", Path: "/device/name/:name", Right: domain.MayServe, Handle: s.remove(remove)},
	}
}

func (s service) addDevice(d domain.Device, at int64) handlers.Order {
	d = d.WithProtocol(s.DefaultProtocol)
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	command := domain.AddDevice{Device: d}
	return handlers.Order{Command: command, ID: d.ID, Problems: problems, Ask: s.askAdd(command)}
}

func (s service) updateDevice(p domain.Patch[domain.Device], at int64) handlers.Order {
	command := domain.UpdateDevice{Patch: p, At: at, Protocol: s.DefaultProtocol}
	o := handlers.Order{Command: command, Problems: p.Check()}
	if len(o.Problems) == 0 {
		o.Ask = s.askUpdate(command)
	}
	return o
}
