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

// callbackRoutes are those by which EdgeX's core-metadata tells a device service what has changed, and asks it about
// devices. This one sees the state of core-metadata itself: nothing that it is told changes anything, and what it is told
// of must be there.
func (s service) callbackRoutes() []handlers.Route {
	addDevice := func(d *v2.Device) (string, domain.Problems) { return d.Name, d.Entity().Check() }
	updateDevice := func(p domain.Patch[v2.Device]) (string, domain.Problems) {
		return p.Is.Name, domain.PatchAs(p, v2.Device.Entity).Check()
	}
	whole := s
	whole.API = s.ForProfiles()
	updateProfile := func(d *v2.Profile) (string, domain.Problems) { return d.Name, d.Entity().Check() }
	updateService := func(p domain.Patch[v2.Service]) (string, domain.Problems) {
		return p.Is.Name, domain.PatchAs(p, v2.Service.Entity).Check()
	}
	addWatcher := func(d *v2.Watcher) (string, domain.Problems) { return d.Name, d.Entity().Check() }
	updateWatcher := func(p domain.Patch[v2.Watcher]) (string, domain.Problems) {
		return p.Is.Name, domain.PatchAs(p, v2.Watcher.Entity).Check()
	}
	device, devicePatch := handlers.EntityIn[v2.Device], handlers.PatchIn[v2.Device]
	watcher, watcherPatch := handlers.EntityIn[v2.Watcher], handlers.PatchIn[v2.Watcher]
	profile, servicePatch := handlers.EntityIn[v2.Profile], handlers.PatchIn[v2.Service]
	return []handlers.Route{
		{Method: "POST", Path: "/validate/device", Right: domain.MayChange, Handle: hear(s, proposed, device, addDevice)},
		{Method: "POST", Path: "/callback/device", Right: domain.MayChange, Handle: hear(s, devices, device, addDevice)},
		{Method: "PUT", Path: "/callback/device", Right: domain.MayChange, Handle: hear(s, devices, devicePatch, updateDevice)},
		{Method: "PUT", Path: "/callback/profile", Right: domain.MayChange, Handle: hear(whole, profiles, profile, updateProfile)},
		{Method: "PUT", Path: "/callback/service", Right: domain.MayChange, Handle: hear(s, itself, servicePatch, updateService)},
		{Method: "POST", Path: "/callback/watcher", Right: domain.MayChange, Handle: hear(s, watchers, watcher, addWatcher)},
		{Method: "PUT", Path: "/callback/watcher", Right: domain.MayChange, Handle: hear(s, watchers, watcherPatch, updateWatcher)},
		{Method: "DELETE", Path: "/callback/device/name/:name", Right: domain.MayChange, Handle: s.hearRemoval(devices)},
		{Method: "DELETE", Path: "/callback/watcher/name/:name", Right: domain.MayChange, Handle: s.hearRemoval(watchers)},
	}
}

// hear serves a callback with a body. in returns the wrapper of the body, which has an entity or a patch under the key of k. about returns
// the name of the entity and its problems.
func hear[X any](
	s service, k kind, in func(key string) handlers.Wrapper[X], about func(X) (name string, p domain.Problems),
) handlers.Handler {
	wrapper := in(k.key)
	return func(c *gin.Context) {
		head, x, err := handlers.ReadWrapped(s.API, c, wrapper)
		if err != nil {
			s.Fail(c, err)
			return
		}
		name, inner := about(x)
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
		answer.RequestID = head.RequestID
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
