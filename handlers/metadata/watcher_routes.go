package metadata

import (
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
	v2 "ledge/handlers/shapes/v2"
)

func (s service) watcherRoutes() []handlers.Route {
	byProfile, byService := handlers.By(domain.IndexProfile, "name"), handlers.By(domain.IndexService, "name")
	show := func(e handlers.Envelope, d domain.ProvisionWatcher) any {
		return &watcherAnswer{e, v2.OfWatcher(d)}
	}
	get := handlers.Get(s.API, s.state, "provision watcher", "name", entities.Watchers, show)
	add := handlers.BatchOf(s.API, s.log, handlers.EntityIn[v2.Watcher]("provisionWatcher"), s.addWatcher)
	update := handlers.BatchOf(s.API, s.log, handlers.PatchIn[v2.Watcher]("provisionWatcher"), s.updateWatcher)
	remove := s.remove(func(name string) domain.Command { return domain.RemoveWatcher{Name: name} })
	return []handlers.Route{
		{Method: "POST", Path: "/provisionwatcher", Right: domain.MayServe, Handle: add},
		{Method: "PATCH", Path: "/provisionwatcher", Right: domain.MayServe, Handle: update},
		{Method: "GET", Path: "/provisionwatcher/all", Right: domain.MayRead, Handle: s.listWatchers(handlers.Labels)},
		{Method: "GET", Path: "/provisionwatcher/profile/name/:name", Right: domain.MayRead, Handle: s.listWatchers(byProfile)},
		{Method: "GET", Path: "/provisionwatcher/service/name/:name", Right: domain.MayRead, Handle: s.listWatchers(byService)},
		{Method: "GET", Path: "/provisionwatcher/name/:name", Right: domain.MayRead, Handle: get},
		{Method: "DELETE", Path: "/provisionwatcher/name/:name", Right: domain.MayServe, Handle: remove},
	}
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
	return handlers.List(s.API, s.state, entities.Watchers, filter, "provisionWatchers", v2.OfWatcher)
}
