package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
	v2 "ledge/handlers/shapes/v2"
)

func (s service) serviceRoutes() []handlers.Route {
	add := handlers.BatchOf(s.API, s.log, handlers.EntityIn[v2.Service]("service"), s.addService)
	update := handlers.BatchOf(s.API, s.log, handlers.PatchIn[v2.Service]("service"), s.updateService)
	list := handlers.List(s.API, s.state, entities.Services, handlers.Labels, "services", v2.OfService)
	show := func(e handlers.Envelope, d domain.DeviceService) any { return &serviceAnswer{e, v2.OfService(d)} }
	get := handlers.Get(s.API, s.state, "device service", "name", entities.Services, show)
	remove := s.remove(func(name string) domain.Command { return domain.RemoveService{Name: name} })
	return []handlers.Route{
		{Method: "POST", Path: "/deviceservice", Right: domain.MayServe, Handle: add},
		{Method: "PATCH", Path: "/deviceservice", Right: domain.MayServe, Handle: update},
		{Method: "GET", Path: "/deviceservice/all", Right: domain.MayRead, Handle: list},
		{Method: "GET", Path: "/deviceservice/name/:name", Right: domain.MayRead, Handle: get},
		{Method: "DELETE", Path: "/deviceservice/name/:name", Right: domain.MayChange, Handle: remove},
	}
}

func (s service) addService(shape *v2.Service, at int64) handlers.Order {
	d := shape.Entity()
	problems := d.Check()
	s.checkAddress(&problems, d.BaseAddress)
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddService{Service: d}, ID: d.ID, Problems: problems}
}

func (s service) updateService(shape domain.Patch[v2.Service], at int64) handlers.Order {
	p := domain.PatchAs(shape, v2.Service.Entity)
	problems := p.Check()
	if p.Has("baseAddress") {
		s.checkAddress(&problems, p.Is.BaseAddress)
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
