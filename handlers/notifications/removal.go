package notifications

import (
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/cleanup"
)

func (s service) removalRoutes() []handlers.Route {
	whatever := func(*gin.Context) (int64, error) { return 0, nil }
	return []handlers.Route{
		{Method: "DELETE", Path: "/notification/id/:id", Right: domain.MayChange, Handle: s.removeNotifications("id")},
		{Method: "DELETE", Path: "/notification/ids/:ids", Right: domain.MayChange, Handle: s.removeNotifications("ids")},
		{Method: "DELETE", Path: "/notification/age/:age", Right: domain.MayChange, Handle: s.cleanUp(domain.CleanupProcessed, age)},
		{Method: "DELETE", Path: "/transmission/age/:age", Right: domain.MayChange, Handle: s.cleanUp(domain.CleanupTransmissions, age)},
		{Method: "DELETE", Path: "/cleanup/age/:age", Right: domain.MayChange, Handle: s.cleanUp(domain.CleanupAll, age)},
		{Method: "DELETE", Path: "/cleanup", Right: domain.MayChange, Handle: s.cleanUp(domain.CleanupAll, whatever)},
	}
}

// age is in milliseconds. EdgeX 2.3 takes a negative one too, as an age that everything has.
func age(c *gin.Context) (int64, error) { return handlers.PathInt(c, "age", "milliseconds") }

// cleanUp asks for a cleanup of what is as old as age.
func (s service) cleanUp(kind string, age func(*gin.Context) (int64, error)) handlers.Handler {
	return cleanup.Serve(s.API, s.notices, func(c *gin.Context) (domain.Cleanup, error) {
		old, err := age(c)
		now := s.Now().UnixMilli()
		return domain.Cleanup{Kind: kind, Until: cleanup.Before(now, old), Asked: now}, err
	})
}

// readAgain is how often a notification that changes while it is removed is read.
const readAgain = 8

// removeNotifications removes the notifications whose ids are in the path, with their transmissions: all or none.
func (s service) removeNotifications(param string) handlers.Handler {
	return s.change(param, func(ids []string, submit submit) (o domain.Outcome, err error) {
		for range readAgain {
			var removals []domain.Removal
			if removals, err = s.removals(ids); err != nil {
				return o, err
			}
			if o, err = submit(domain.RemoveNotifications{Removals: removals}); domain.CodeOf(err) != domain.Unavailable {
				break
			}
		}
		return domain.Outcome{}, err // what is gone has no revision
	})
}

func (s service) removals(ids []string) ([]domain.Removal, error) {
	view, done := s.notifications()
	defer done()
	return domain.Removals(view, ids)
}
