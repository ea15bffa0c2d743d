package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

func (s service) routeServices() {
	r := s.Routes
	r.POST("/deviceservice", handlers.Batch(s.API, s.log, "service", s.addService))
	r.GET("/deviceservice/all", handlers.List(s.API, s.state, domain.Lists.Services, handlers.Labels, shapeService,
		func(e handlers.ListEnvelope, l []serviceShape) any { return servicesAnswer{e, l} }))
	r.GET("/deviceservice/name/:name", handlers.Get(s.API, s.state, "device service", "name",
		func(st domain.State) domain.Table[domain.DeviceService] { return st.Services },
		func(e handlers.Envelope, d domain.DeviceService) any { return serviceAnswer{e, shapeService(d)} }))
}

func (s service) addService(e *addService, at int64) handlers.Order {
	d := e.Service.service()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddService{Service: d}, ID: d.ID, Problems: problems}
}
