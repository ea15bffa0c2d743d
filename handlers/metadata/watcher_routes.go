package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/shapes/v2"
)

var watcherKind = handlers.Kind[domain.ProvisionWatcher]{List: domain.ListWatchers, Table: func(s domain.State) domain.Table[domain.ProvisionWatcher] { return s.Watchers }}

func (s service) routeWatchers() {
	r := s.Routes
	r.POST("/provisionwatcher", handlers.Batch(s.API, s.log, "provisionWatcher", s.addWatcher))
	r.PATCH("/provisionwatcher", handlers.Batch(s.API, s.log, "provisionWatcher", s.updateWatcher))
	r.GET("/provisionwatcher/all", s.listWatchers(handlers.Labels))
	r.GET("/provisionwatcher/profile/name/:name", s.listWatchers(handlers.By(domain.IndexProfile, "name")))
	r.GET("/provisionwatcher/service/name/:name", s.listWatchers(handlers.By(domain.IndexService, "name")))
	r.GET("/provisionwatcher/name/:name", handlers.Get(s.API, s.state, "provision watcher", "name", watcherKind.Table,
		func(e handlers.Envelope, d domain.ProvisionWatcher) any {
			return &watcherAnswer{e, v2.OfWatcher(d)}
		}))
	r.DELETE("/provisionwatcher/name/:name", s.remove(func(name string) domain.Command { return domain.RemoveWatcher{Name: name} }))
}

func (s service) addWatcher(e *v2.AddWatcher, at int64) handlers.Order {
	d := e.Watcher.Entity()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddWatcher{Watcher: d}, ID: d.ID, Problems: problems}
}

func (s service) updateWatcher(e *v2.UpdateWatcher, at int64) handlers.Order {
	p := e.Watcher.Patch()
	return handlers.Order{Command: domain.UpdateWatcher{Patch: p, At: at}, Problems: p.Check()}
}

func (s service) listWatchers(filter handlers.Filter) handlers.Handler {
	return handlers.List(s.API, s.state, watcherKind, filter, "provisionWatchers", v2.OfWatcher)
}
