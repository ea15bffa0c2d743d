package devicerest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/shapes/v2"
)

// kind is what a callback is about: it stands under key in the request, and known reports whether core-metadata has one
// of a name.
type kind struct {
	key   string
	known func(s domain.State, name string) bool
}

var (
	devices  = kind{"device", func(s domain.State, name string) bool { _, ok := s.Devices.Get(name); return ok }}
	profiles = kind{"profile", func(s domain.State, name string) bool { _, ok := s.Profiles.Get(name); return ok }}
	watchers = kind{"provisionWatcher", func(s domain.State, name string) bool { _, ok := s.Watchers.Get(name); return ok }}
	itself   = kind{"service", func(s domain.State, name string) bool {
		_, ok := s.Services.Get(name)
		return ok && name == domain.DeviceREST
	}}
	// proposed is a device that core-metadata asks about before it adds it.
	proposed = kind{"device", func(domain.State, string) bool { return true }}
)

// routeCallbacks adds the paths by which EdgeX's core-metadata tells a device service what has changed, and asks it about
// devices. This one sees the state of core-metadata itself: nothing that it is told changes anything, and what it is told
// of must be there.
func (s service) routeCallbacks() {
	r := s.Routes
	addDevice := func(e *v2.AddDevice) (string, domain.Problems) { d := e.Device.Entity(); return d.Name, d.Check() }
	r.POST("/validate/device", hear(s, proposed, addDevice))
	r.POST("/callback/device", hear(s, devices, addDevice))
	r.PUT("/callback/device", hear(s, devices, func(e *v2.UpdateDevice) (string, domain.Problems) {
		return named(e.Device.Name), e.Device.Patch().Check()
	}))
	whole := s
	whole.API = s.ForProfiles()
	r.PUT("/callback/profile", hear(whole, profiles, func(e *v2.AddProfile) (string, domain.Problems) {
		d := e.Profile.Entity()
		return d.Name, d.Check()
	}))
	r.PUT("/callback/service", hear(s, itself, func(e *v2.UpdateService) (string, domain.Problems) {
		return named(e.Service.Name), e.Service.Patch().Check()
	}))
	r.POST("/callback/watcher", hear(s, watchers, func(e *v2.AddWatcher) (string, domain.Problems) {
		d := e.Watcher.Entity()
		return d.Name, d.Check()
	}))
	r.PUT("/callback/watcher", hear(s, watchers, func(e *v2.UpdateWatcher) (string, domain.Problems) {
		return named(e.Watcher.Name), e.Watcher.Patch().Check()
	}))
	r.DELETE("/callback/device/name/:name", s.hearRemoval(devices))
	r.DELETE("/callback/watcher/name/:name", s.hearRemoval(watchers))
}

// request is met by a pointer to a struct that embeds handlers.Head.
type request[E any] interface {
	*E
	RequestHead() *handlers.Head
}

// hear serves a callback with a body, of which about returns the name of its entity and what is wrong with it.
func hear[E any, H request[E]](s service, k kind, about func(*E) (name string, p domain.Problems)) handlers.Handler {
	return func(c *gin.Context) {
		e, err := handlers.ReadObject[E, H](s.API, c)
		if err != nil {
			s.Fail(c, err)
			return
		}
		name, inner := about(e)
		if name == "" && len(inner) == 0 { // an update may have an id instead where it is a request to core-metadata
			inner.Add("name", "is missing or empty; give the name, which says what the callback is about")
		}
		var p domain.Problems
		p.In(k.key, inner)
		if err = p.Err(); err == nil {
			err = s.check(k, name)
		}
		if err != nil {
			s.Fail(c, err)
			return
		}
		answer := s.Envelope(http.StatusOK)
		answer.RequestID = H(e).RequestHead().RequestID
		s.Reply(c, http.StatusOK, answer)
	}
}

// hearRemoval serves a callback that says that something was removed. As in EdgeX's SDK what is not known is refused.
func (s service) hearRemoval(k kind) handlers.Handler {
	return func(c *gin.Context) {
		if err := s.check(k, c.Param("name")); err != nil {
			s.Fail(c, err)
			return
		}
		s.Reply(c, http.StatusOK, s.Envelope(http.StatusOK))
	}
}

func (s service) check(k kind, name string) error {
	view, done := s.state()
	defer done()
	if !k.known(view.State, name) {
		return domain.Errorf(domain.NotFound, "%s %.80q is not known here: core-metadata has none of that name, or it is not for %s; correct the name", k.key, name, domain.DeviceREST)
	}
	return nil
}

// named is a name that may be missing.
func named(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}
