package metadata

import (
	"cmp"
	"crypto/sha256"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
	v2 "ledge/handlers/shapes/v2"
)

func (s service) profileRoutes() []handlers.Route {
	api := s.ForProfiles()
	add := handlers.BatchOf(api, s.log, handlers.EntityIn[v2.Profile]("profile"), s.newProfile)
	replace := handlers.BatchOf(api, s.log, handlers.EntityIn[v2.Profile]("profile"), s.newerProfile)
	byMaker, byModel := handlers.By(domain.IndexManufacturer, "manufacturer"), handlers.By(domain.IndexModel, "model")
	const ofMaker = "/deviceprofile/manufacturer/:manufacturer"
	show := func(e handlers.Envelope, d domain.Profile) any { return &profileAnswer{e, v2.OfProfile(d)} }
	get := handlers.Get(s.API, s.state, "device profile", "name", entities.Profiles, show)
	upload, uploadNewer := s.uploadProfile(s.newProfile, http.StatusCreated), s.uploadProfile(s.newerProfile, http.StatusOK)
	return []handlers.Route{
		{Method: "POST", Path: "/deviceprofile", Right: domain.MayServe, Handle: add},
		{Method: "PUT", Path: "/deviceprofile", Right: domain.MayServe, Handle: s.ifChangeable(replace)},
		{Method: "POST", Path: "/deviceprofile/uploadfile", Right: domain.MayServe, Handle: upload},
		{Method: "PUT", Path: "/deviceprofile/uploadfile", Right: domain.MayServe, Handle: s.ifChangeable(uploadNewer)},
		{Method: "GET", Path: "/deviceprofile/all", Right: domain.MayRead, Handle: s.listProfiles(handlers.Labels)},
		{Method: "GET", Path: ofMaker, Right: domain.MayRead, Handle: s.listProfiles(byMaker)},
		{Method: "GET", Path: ofMaker + "/model/:model", Right: domain.MayRead, Handle: s.listProfiles(byMakerAndModel)},
		{Method: "GET", Path: "/deviceprofile/model/:model", Right: domain.MayRead, Handle: s.listProfiles(byModel)},
		{Method: "GET", Path: "/deviceprofile/name/:name", Right: domain.MayRead, Handle: get},
		{Method: "DELETE", Path: "/deviceprofile/name/:name", Right: domain.MayServe, Handle: s.removeProfile},
	}
}

func (s service) newProfile(shape *v2.Profile, at int64) handlers.Order {
	d := shape.Entity()
	problems := d.Check()
	d.ID, d.Created, d.Modified = s.idOr(d.ID), at, at
	return handlers.Order{Command: domain.AddProfile{Profile: d}, ID: d.ID, Problems: problems, Refused: s.checkUnits(d.DeviceResources...)}
}

// newerProfile takes the whole profile anew.
func (s service) newerProfile(shape *v2.Profile, at int64) handlers.Order {
	d := shape.Entity()
	return handlers.Order{Command: domain.UpdateProfile{Profile: d, At: at}, Problems: d.Check(), Refused: s.checkUnits(d.DeviceResources...)}
}

// ifChangeable looks at the setting before anything of the body is read, as EdgeX 2.3 does.
func (s service) ifChangeable(serve handlers.Handler) handlers.Handler {
	return func(c *gin.Context) {
		if err := s.checkChangeable(); err != nil {
			s.Fail(c, err)
			return
		}
		serve(c)
	}
}

func (s service) checkChangeable() error {
	if s.StrictProfileChanges {
		// EdgeX 2.3 answers 423 here.
		return domain.Errorf(domain.Locked, "profile change is not allowed while the setting strict-profiles has changes; take it out to change profiles")
	}
	return nil
}

// removeProfile looks at the setting before it looks for the profile, as EdgeX 2.3 does.
func (s service) removeProfile(c *gin.Context) {
	if s.StrictProfileDeletes {
		// EdgeX 2.3 answers 423 here.
		s.Fail(c, domain.Errorf(domain.Locked, "profile deletion is not allowed while the setting strict-profiles has deletes; take it out to delete profiles"))
		return
	}
	s.remove(func(name string) domain.Command { return domain.RemoveProfile{Name: name} })(c)
}

func (s service) listProfiles(filter handlers.Filter) handlers.Handler {
	return handlers.List(s.API, s.state, entities.Profiles, filter, "profiles", v2.OfProfile)
}

func byMakerAndModel(c *gin.Context) []domain.Filter {
	return []domain.Filter{
		{Index: domain.IndexManufacturer, Value: c.Param("manufacturer")}, {Index: domain.IndexModel, Value: c.Param("model")},
	}
}

// uploadProfile does what order says with the profile in the part "file" of a multipart form.
func (s service) uploadProfile(order func(*v2.Profile, int64) handlers.Order, status int) handlers.Handler {
	return func(c *gin.Context) {
		id, ignored, err := s.submitFile(c, order)
		if err != nil {
			s.Fail(c, err)
			return
		}
		done := handlers.Item{Envelope: s.Envelope(status), ID: id}
		done.Message = ignored
		s.Reply(c, status, done)
	}
}

// submitFile returns the id of the profile where it was added, now or when the request was sent first, and a message about unknown keys.
func (s service) submitFile(c *gin.Context, order func(*v2.Profile, int64) handlers.Order) (id, ignored string, err error) {
	key, err := s.Key(c)
	if err != nil {
		return "", "", err
	}
	file, err := s.readProfileFile(c)
	if err != nil {
		return "", "", err
	}
	room := s.EntryMemory(c)
	defer room.Release()
	shape, ignored, err := decodeProfile(file, s.UploadBytes, room.HoldBytes)
	if err != nil {
		return "", "", err
	}
	o := order(&shape, s.Now().UnixMilli())
	var problems domain.Problems
	problems.In("file", o.Problems)
	if err := problems.Err(); err != nil {
		return "", "", err
	}
	if o.Refused != nil {
		return "", "", o.Refused
	}
	if key == "" {
		out, err := s.Submit(c, s.log, o.Command, len(file))
		handlers.SetETag(c, out.Seq)
		return o.ID, ignored, err
	}
	before, seq, err := s.Once(c, s.log, key, sha256.Sum256(file), o.Command, len(file)) // of the file: the form's boundaries differ each time
	handlers.SetETag(c, seq)
	return cmp.Or(before, o.ID), ignored, err
}
