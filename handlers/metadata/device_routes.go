package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/shapes/v2"
)

var deviceKind = handlers.Kind[domain.Device]{List: domain.ListDevices, Table: func(s domain.State) domain.Table[domain.Device] { return s.Devices }}

func (s service) routeDevices() {
	r := s.Routes
	r.POST("/device", handlers.Batch(s.API, s.log, "device", s.addDevice))
	r.PATCH("/device", handlers.Batch(s.API, s.log, "device", s.updateDevice))
	r.GET("/device/all", s.listDevices(handlers.Labels))
	r.GET("/device/profile/name/:name", s.listDevices(handlers.By(domain.IndexProfile, "name")))
	r.GET("/device/service/name/:name", s.listDevices(handlers.By(domain.IndexService, "name")))
	r.GET("/device/name/:name", s.getDevice(func(e handlers.Envelope, d domain.Device) any {
		return &deviceAnswer{e, v2.OfDevice(d)}
	}))
	r.GET("/device/check/name/:name", s.getDevice(func(e handlers.Envelope, _ domain.Device) any { return e }))
	r.DELETE("/device/name/:name", s.remove(func(name string) domain.Command { return domain.RemoveDevice{Name: name} }))
}

func (s service) addDevice(e *v2.AddDevice, at int64) handlers.Order {
	d := e.Device.Entity()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	command := domain.AddDevice{Device: d}
	return handlers.Order{Command: command, ID: d.ID, Problems: problems, Ask: s.askAdd(command)}
}

func (s service) updateDevice(e *v2.UpdateDevice, at int64) handlers.Order {
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
	return handlers.List(s.API, s.state, deviceKind, filter, "devices", v2.OfDevice)
}
