package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/shapes/v2"
)

var watcherKind = handlers.Kind[domain.ProvisionWatcher]{List: domain.ListWatchers, Table: func(s domain.State) domain.Table[domain.ProvisionWatcher] { return s.Watchers }}

func (s service) routeWatchers() {
	r := s.Routes
	r.POST("/provisionwatcher", handlers.BatchOf(s.API, s.log, handlers.EntityIn[v2.Watcher]("provisionWatcher"), s.addWatcher))
	r.PATCH("/provisionwatcher", handlers.BatchOf(s.API, s.log, handlers.PatchIn[v2.Watcher]("provisionWatcher"), s.updateWatcher))
	r.GET("/provisionwatcher/all", s.listWatchers(handlers.Labels))
	r.GET("/provisionwatcher/profile/name/:name", s.listWatchers(handlers.By(domain.IndexProfile, "name")))
	r.GET("/provisionwatcher/service/name/:name", s.listWatchers(handlers.By(domain.IndexService, "name")))
	r.GET("/provisionwatcher/name/:name", handlers.Get(s.API, s.state, "provision watcher", "name", watcherKind.Table,
		func(e handlers.Envelope, d domain.ProvisionWatcher) any {
			return &watcherAnswer{e, v2.OfWatcher(d)}
		}))
	r.DELETE("/provisionwatcher/name/:name", s.remove(func(name string) domain.Command { return domain.RemoveWatcher{Name: name} }))
}

func (s service) addWatcher(shape *v2.Watcher, at int64) handlers.Order {
	d := shape.Entity()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddWatcher{Watcher: d}, ID: d.ID, Problems: problems}
}

func (s service) updateWatcher(shape domain.Patch[v2.Watcher], at int64) handlers.Order {
	p := domain.PatchAs(shape, v2.Watcher.Entity)
	return handlers.Order{Command: domain.UpdateWatcher{Patch: p, At: at}, Problems: p.Check()}
}

func (s service) listWatchers(filter handlers.Filter) handlers.Handler {
	return handlers.List(s.API, s.state, watcherKind, filter, "provisionWatchers", v2.OfWatcher)
}
