package metadata

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

func (s service) routeProfiles() {
	r := s.Routes
	r.POST("/deviceprofile", handlers.Batch(s.API, s.log, "profile", s.addProfile))
	r.POST("/deviceprofile/uploadfile", s.uploadProfile)
	r.GET("/deviceprofile/all", handlers.List(s.API, s.state, domain.Lists.Profiles, handlers.Labels, shapeProfile,
		func(e handlers.ListEnvelope, l []profileShape) any { return profilesAnswer{e, l} }))
	r.GET("/deviceprofile/name/:name", handlers.Get(s.API, s.state, "device profile", "name",
		func(st domain.State) domain.Table[domain.Profile] { return st.Profiles },
		func(e handlers.Envelope, d domain.Profile) any { return profileAnswer{e, shapeProfile(d)} }))
	r.DELETE("/deviceprofile/name/:name", s.remove(func(name string) domain.Command { return domain.RemoveProfile{Name: name} }))
}

func (s service) addProfile(e *addProfile, at int64) handlers.Order {
	return s.newProfile(e.Profile, at)
}

func (s service) newProfile(shape profileShape, at int64) handlers.Order {
	d := shape.profile()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddProfile{Profile: d}, ID: d.ID, Problems: problems}
}

// uploadProfile adds the profile in the part "file" of a multipart form.
func (s service) uploadProfile(c *gin.Context) {
	shape, err := s.readProfileFile(c)
	if err != nil {
		s.Fail(c, err)
		return
	}
	order := s.newProfile(shape, s.Now().UnixMilli())
	var problems domain.Problems
	problems.In("file", order.Problems)
	if err := problems.Err(); err != nil {
		s.Fail(c, err)
		return
	}
	if _, err := s.Submit(c, s.log, order.Command); err != nil {
		s.Fail(c, err)
		return
	}
	s.Reply(c, http.StatusCreated, handlers.Item{Envelope: s.Envelope(http.StatusCreated), ID: order.ID})
}
