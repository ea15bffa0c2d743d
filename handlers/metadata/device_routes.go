package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

var deviceKind = handlers.Kind[domain.Device]{List: domain.ListDevices, Table: func(s domain.State) domain.Table[domain.Device] { return s.Devices }}

// deviceAnswer answers with a device in the shape S.
type deviceAnswer[S any] struct {
	handlers.Envelope
	Device S `json:"device"`
}

// routeDevices serves devices in the shape S of a version of the API. show returns the shape of a device.
func routeDevices[S interface{ Entity() domain.Device }](s service, show func(domain.Device) S) {
	get := func(wrap func(handlers.Envelope, domain.Device) any) handlers.Handler {
		return handlers.Get(s.API, s.state, "device", "name", deviceKind.Table, wrap)
	}
	list := func(filter handlers.Filter) handlers.Handler {
		return handlers.List(s.API, s.state, deviceKind, filter, "devices", show)
	}
	r := s.Routes
	r.POST("/device", handlers.BatchOf(s.API, s.log, handlers.EntityIn[S]("device"), func(d *S, at int64) handlers.Order {
		return s.addDevice((*d).Entity(), at)
	}))
	r.PATCH("/device", handlers.BatchOf(s.API, s.log, handlers.PatchIn[S]("device"), func(p domain.Patch[S], at int64) handlers.Order {
		return s.updateDevice(domain.PatchAs(p, S.Entity), at)
	}))
	r.GET("/device/all", list(handlers.Labels))
	r.GET("/device/profile/name/:name", list(handlers.By(domain.IndexProfile, "name")))
	r.GET("/device/service/name/:name", list(handlers.By(domain.IndexService, "name")))
	r.GET("/device/name/:name", get(func(e handlers.Envelope, d domain.Device) any { return &deviceAnswer[S]{e, show(d)} }))
	r.GET("/device/check/name/:name", get(func(e handlers.Envelope, _ domain.Device) any { return e }))
	r.DELETE("/device/name/:name", s.remove(func(name string) domain.Command { return domain.RemoveDevice{Name: name} }))
}

func (s service) addDevice(d domain.Device, at int64) handlers.Order {
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	command := domain.AddDevice{Device: d}
	return handlers.Order{Command: command, ID: d.ID, Problems: problems, Ask: s.askAdd(command)}
}

func (s service) updateDevice(p domain.Patch[domain.Device], at int64) handlers.Order {
	command := domain.UpdateDevice{Patch: p, At: at}
	o := handlers.Order{Command: command, Problems: p.Check()}
	if len(o.Problems) == 0 {
		o.Ask = s.askUpdate(command)
	}
	return o
}
