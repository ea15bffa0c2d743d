package data

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/cleanup"
	"ledge/handlers/entities"
)

func (s service) eventRoutes() []handlers.Route {
	device, between := handlers.By(domain.IndexDevice, "name"), handlers.ByTime(time.Nanosecond, handlers.Unfiltered)
	remove := handlers.Remove(s.API, s.log, "id", func(id string) domain.Command { return domain.RemoveDataEvent{ID: id} })
	const add = "/event/:profileName/:deviceName/:sourceName"
	return []handlers.Route{
		{Method: "POST", Path: add, Right: domain.MayPost, Device: "deviceName", Handle: s.addEvent},
		{Method: "GET", Path: "/event/id/:id", Right: domain.MayRead, Handle: handlers.WithID(s.API, s.getEvent)},
		{Method: "GET", Path: "/event/all", Right: domain.MayRead, Handle: s.listEvents(asked(handlers.Unfiltered))},
		{Method: "GET", Path: "/event/device/name/:name", Right: domain.MayRead, Handle: s.listEvents(asked(device))},
		{Method: "GET", Path: "/event/start/:start/end/:end", Right: domain.MayRead, Handle: s.listEvents(between)},
		{Method: "GET", Path: "/event/count", Right: domain.MayRead, Handle: count(s, eventKind, handlers.Unfiltered)},
		{Method: "GET", Path: "/event/count/device/name/:name", Right: domain.MayRead, Handle: count(s, eventKind, device)},
		{Method: "DELETE", Path: "/event/id/:id", Right: domain.MayChange, Handle: handlers.WithID(s.API, remove)},
		{Method: "DELETE", Path: "/event/device/name/:name", Right: domain.MayChange, Handle: cleanup.Serve(s.API, s.log, s.ofDevice)},
		{Method: "DELETE", Path: "/event/age/:age", Right: domain.MayChange, Handle: cleanup.Serve(s.API, s.log, s.ofAge)},
	}
}

// asked is a filter that no request gets wrong.
func asked(f handlers.Filter) handlers.Asked {
	return func(c *gin.Context) ([]domain.Filter, error) { return f(c), nil }
}

// ofDevice is all that a device has said. What is not a name is refused: no device has it.
func (s service) ofDevice(c *gin.Context) (domain.Cleanup, error) {
	name := c.Param("name")
	err := domain.CheckName("name", name).Err()
	return domain.Cleanup{Kind: domain.CleanupDeviceEvents(name)}, err
}

// ofAge is what has an age, in nanoseconds, or a higher one.
func (s service) ofAge(c *gin.Context) (domain.Cleanup, error) {
	age, err := handlers.PathInt(c, "age", "nanoseconds")
	return domain.Cleanup{Kind: domain.CleanupEvents, Until: cleanup.Before(s.Now().UnixNano(), age)}, err
}

func (s service) getEvent(c *gin.Context) {
	id := c.Param("id")
	e, revision, ok := s.lookUp(id)
	switch {
	case !ok:
		s.Fail(c, domain.Errorf(domain.NotFound, "event id %s does not exist; correct the id", id))
	case !s.Unchanged(c, revision):
		a := s.answer(c)
		defer a.Release()
		a.envelope()
		a.enc.key("event")
		a.event(e)
		a.finish()
	}
}

func (s service) lookUp(id string) (e domain.DataEvent, revision uint64, ok bool) {
	view, done := s.state()
	defer done()
	e, ok = view.State.DataEvents.Get(id)
	return e, domain.Revision(view.State.DataEvents, id), ok
}

var eventKind = entities.Kind[domain.DataEvent]{List: domain.ListDataEvents, Table: func(s domain.State) domain.Table[domain.DataEvent] { return s.DataEvents }}

func (s service) listEvents(filter handlers.Asked) handlers.Handler {
	return list(s, "events", eventKind, filter, (*answer).event)
}

// list answers a page, one element after the other.
func list[S any](s service, name string, kind entities.Kind[S], filter handlers.Asked, write func(*answer, S)) handlers.Handler {
	return func(c *gin.Context) {
		found, err := handlers.FindPage(s.API, c, s.state, kind, filter)
		if err != nil {
			s.Fail(c, err)
			return
		}
		a := s.answer(c)
		defer a.Release()
		a.envelope()
		a.number("totalCount", int64(found.Total))
		a.enc.key(name)
		a.enc.list()
		// Rows are not counted: the longest has 64 KiB of tags and the ids of 1,000 readings.
		a.Fail(found.Each(func(int64) error { return nil }, func(one *S) error {
			write(a, *one)
			return a.Err
		}))
		a.enc.endList()
		a.finish()
	}
}

// countAnswer is written as EdgeX 2.3 writes it.
type countAnswer struct {
	handlers.Envelope
	Count int `json:"Count"`
}

func count[S any](s service, kind entities.Kind[S], filter handlers.Filter) handlers.Handler {
	return func(c *gin.Context) {
		found, err := entities.Query(s.state, kind, domain.Page{}, filter(c))
		if err != nil {
			s.Fail(c, err)
			return
		}
		s.Reply(c, http.StatusOK, countAnswer{s.Envelope(http.StatusOK), found.Total})
	}
}
