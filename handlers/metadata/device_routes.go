package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

func (s service) routeDevices() {
	r := s.Routes
	r.POST("/device", handlers.Batch(s.API, s.log, "device", s.addDevice))
	r.PATCH("/device", handlers.Batch(s.API, s.log, "device", s.updateDevice))
	r.GET("/device/all", s.listDevices(handlers.Labels))
	r.GET("/device/profile/name/:name", s.listDevices(handlers.By(domain.IndexProfile, "name")))
	r.GET("/device/service/name/:name", s.listDevices(handlers.By(domain.IndexService, "name")))
	r.GET("/device/name/:name", s.getDevice(func(e handlers.Envelope, d domain.Device) any {
		return deviceAnswer{e, shapeDevice(d)}
	}))
	r.GET("/device/check/name/:name", s.getDevice(func(e handlers.Envelope, _ domain.Device) any { return e }))
	r.DELETE("/device/name/:name", s.remove(func(name string) domain.Command { return domain.RemoveDevice{Name: name} }))
}

func (s service) addDevice(e *addDevice, at int64) handlers.Order {
	d := e.Device.device()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	command := domain.AddDevice{Device: d}
	return handlers.Order{Command: command, ID: d.ID, Problems: problems, Ask: s.askAdd(command)}
}

func (s service) updateDevice(e *updateDevice, at int64) handlers.Order {
	p := e.Device.patch()
	command := domain.UpdateDevice{Patch: p, At: at}
	return handlers.Order{Command: command, Problems: p.Check(), Ask: s.askUpdate(command)}
}

func (s service) getDevice(wrap func(handlers.Envelope, domain.Device) any) handlers.Handler {
	devices := func(st domain.State) domain.Table[domain.Device] { return st.Devices }
	return handlers.Get(s.API, s.state, "device", "name", devices, wrap)
}

func (s service) listDevices(filter handlers.Filter) handlers.Handler {
	return handlers.List(s.API, s.state, domain.Lists.Devices, filter, shapeDevice,
		func(e handlers.ListEnvelope, l []deviceShape) any { return devicesAnswer{e, l} })
}
