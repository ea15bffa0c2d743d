package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
	"ledge/handlers/shapes"
)

var serviceKind = entities.Kind[domain.DeviceService]{List: domain.ListServices, Table: func(s domain.State) domain.Table[domain.DeviceService] { return s.Services }}

func (s service) serviceRoutes() []handlers.Route {
	add, update := handlers.Batch(s.API, s.log, "service", s.addService), handlers.Batch(s.API, s.log, "service", s.updateService)
	list := handlers.List(s.API, s.state, serviceKind, handlers.Labels, "services", shapes.OfService)
	show := func(e handlers.Envelope, d domain.DeviceService) any { return &serviceAnswer{e, shapes.OfService(d)} }
	get := handlers.Get(s.API, s.state, "device service", "name", serviceKind.Table, show)
	remove := s.remove(func(name string) domain.Command { return domain.RemoveService{Name: name} })
	return []handlers.Route{
		{Method: "POST", Path: "/deviceservice", Right: domain.MayChange, Handle: add},
		{Method: "PATCH", Path: "/deviceservice", Right: domain.MayChange, Handle: update},
		{Method: "GET", Path: "/deviceservice/all", Right: domain.MayRead, Handle: list},
		{Method: "GET", Path: "/deviceservice/name/:name", Right: domain.MayRead, Handle: get},
		{Method: "DELETE", Path: "/deviceservice/name/:name", Right: domain.MayChange, Handle: remove},
	}
}

func (s service) addService(e *shapes.AddService, at int64) handlers.Order {
	d := e.Service.Entity()
	problems := d.Check()
	s.checkAddress(&problems, d.BaseAddress)
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddService{Service: d}, ID: d.ID, Problems: problems}
}

func (s service) updateService(e *shapes.UpdateService, at int64) handlers.Order {
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
