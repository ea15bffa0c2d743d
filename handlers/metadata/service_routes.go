package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/shapes/v2"
)

var serviceKind = handlers.Kind[domain.DeviceService]{List: domain.ListServices, Table: func(s domain.State) domain.Table[domain.DeviceService] { return s.Services }}

func (s service) routeServices() {
	r := s.Routes
	r.POST("/deviceservice", handlers.Batch(s.API, s.log, "service", s.addService))
	r.PATCH("/deviceservice", handlers.Batch(s.API, s.log, "service", s.updateService))
	r.GET("/deviceservice/all", handlers.List(s.API, s.state, serviceKind, handlers.Labels, "services", v2.OfService))
	r.GET("/deviceservice/name/:name", handlers.Get(s.API, s.state, "device service", "name", serviceKind.Table,
		func(e handlers.Envelope, d domain.DeviceService) any { return &serviceAnswer{e, v2.OfService(d)} }))
	r.DELETE("/deviceservice/name/:name", s.remove(func(name string) domain.Command { return domain.RemoveService{Name: name} }))
}

func (s service) addService(e *v2.AddService, at int64) handlers.Order {
	d := e.Service.Entity()
	problems := d.Check()
	s.checkAddress(&problems, d.BaseAddress)
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddService{Service: d}, ID: d.ID, Problems: problems}
}

func (s service) updateService(e *v2.UpdateService, at int64) handlers.Order {
	p := e.Service.Patch()
	problems := p.Check()
	if p.BaseAddress != nil {
		s.checkAddress(&problems, *p.BaseAddress)
	}
	return handlers.Order{Command: domain.UpdateService{Patch: p, At: at}, Problems: problems}
}

// checkAddress notes that a service may not be called back at a base address.
func (s service) checkAddress(p *domain.Problems, base string) {
	if s.Devices == nil {
		return
	}
	if err := s.Devices.CheckAddress(base); err != nil {
		p.Add("baseAddress", "%v", err)
	}
}
