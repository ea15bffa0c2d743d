package metadata

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/answers"
	"ledge/handlers/entities"
	v2 "ledge/handlers/shapes/v2"
)

func (s service) profilePartRoutes() []handlers.Route {
	removeResource := s.removePart(func(profile, name string, at int64) domain.Command {
		return domain.RemoveDeviceResource{Profile: profile, Name: name, At: at}
	})
	removeCommand := s.removePart(func(profile, name string, at int64) domain.Command {
		return domain.RemoveDeviceCommand{Profile: profile, Name: name, At: at}
	})
	updateInfo := handlers.BatchOf(s.API, s.log, handlers.PatchIn[v2.Profile]("basicinfo"), s.updateProfileInfo)
	const resource, command = "/deviceprofile/resource", "/deviceprofile/deviceCommand"
	return []handlers.Route{
		{Method: "PATCH", Path: "/deviceprofile/basicinfo", Right: domain.MayChange, Handle: updateInfo},
		{Method: "POST", Path: resource, Right: domain.MayChange, Handle: handlers.Batch(s.API, s.log, "", s.addResource)},
		{Method: "PATCH", Path: resource, Right: domain.MayChange, Handle: handlers.Batch(s.API, s.log, "", s.updateResource)},
		{Method: "DELETE", Path: "/deviceprofile/name/:name/resource/:part", Right: domain.MayChange, Handle: removeResource},
		{Method: "GET", Path: "/deviceresource/profile/:name/resource/:part", Right: domain.MayRead, Handle: s.getResource},
		{Method: "POST", Path: command, Right: domain.MayChange, Handle: handlers.Batch(s.API, s.log, "", s.addCommand)},
		{Method: "PATCH", Path: command, Right: domain.MayChange, Handle: handlers.Batch(s.API, s.log, "", s.updateCommand)},
		{Method: "DELETE", Path: "/deviceprofile/name/:name/deviceCommand/:part", Right: domain.MayChange, Handle: removeCommand},
	}
}

func (s service) updateProfileInfo(shape domain.Patch[v2.Profile], at int64) handlers.Order {
	p := domain.PatchAs(shape, v2.Profile.Entity)
	return handlers.Order{Command: domain.UpdateProfileInfo{Patch: p, At: at}, Problems: p.Check()}
}

func (s service) addResource(e *addResource, at int64) handlers.Order {
	d := e.Resource.Entity().Normalize()
	return handlers.Order{
		Command:  domain.AddDeviceResource{Profile: e.ProfileName, Resource: d, At: at},
		AddsPart: true, Problems: partProblems(e.ProfileName, "resource", d.Check()), Refused: s.refuseResource(e.ProfileName, d),
	}
}

func (s service) updateResource(e *updateResource, at int64) handlers.Order {
	p := domain.ResourcePatch(e.Resource)
	return handlers.Order{
		Command:  domain.UpdateDeviceResource{Profile: e.ProfileName, Patch: p, At: at},
		Problems: partProblems(e.ProfileName, "resource", p.Check()),
	}
}

func (s service) addCommand(e *addCommand, at int64) handlers.Order {
	d := e.Command.Entity()
	return handlers.Order{
		Command:  domain.AddDeviceCommand{Profile: e.ProfileName, Command: d, At: at},
		AddsPart: true, Problems: partProblems(e.ProfileName, "deviceCommand", d.Check()),
	}
}

func (s service) updateCommand(e *updateCommand, at int64) handlers.Order {
	p := domain.CommandPatch(e.Command)
	return handlers.Order{
		Command:  domain.UpdateDeviceCommand{Profile: e.ProfileName, Patch: p, At: at},
		Problems: partProblems(e.ProfileName, "deviceCommand", p.Check()),
	}
}

// partProblems are those of the profile's name and, below the key part, those of the part.
func partProblems(profileName, part string, inner domain.Problems) domain.Problems {
	p := domain.CheckName("profileName", profileName)
	p.In(part, inner)
	return p
}

// removePart takes a part out of a profile. EdgeX 2.3 looks at the setting before it looks for the profile.
func (s service) removePart(command func(profile, name string, at int64) domain.Command) handlers.Handler {
	return func(c *gin.Context) {
		if err := s.checkChangeable(); err != nil {
			s.Fail(c, err)
			return
		}
		if _, err := s.Submit(c, s.log, command(c.Param("name"), c.Param("part"), s.Now().UnixMilli()), 0); err != nil {
			s.Fail(c, err)
			return
		}
		s.Reply(c, http.StatusOK, s.Envelope(http.StatusOK))
	}
}

func (s service) getResource(c *gin.Context) {
	memory := s.AnswerMemoryOf(c)
	defer memory.Release()
	r, revision, err := s.findResource(c, memory)
	if err != nil {
		s.Fail(c, err)
		return
	}
	if s.Unchanged(c, revision) {
		return
	}
	s.ReplyLarge(c, memory, resourceAnswer{s.Envelope(http.StatusOK), v2.OfResource(r)})
}

// findResource returns the resource in the path and the revision of its profile.
func (s service) findResource(c *gin.Context, memory *answers.Memory) (r domain.DeviceResource, revision uint64, err error) {
	profile, name := c.Param("name"), c.Param("part")
	var d domain.Profile
	var row domain.Row
	state, err := handlers.EntityState(c, s.state, entities.Profiles.List, profile)
	if err == nil {
		row, err = entities.LookUp(memory, state, entities.Profiles.Table, profile, &d)
	}
	if err == nil && !row.OK {
		err = missingProfile(profile)
	}
	if err != nil {
		return r, 0, err
	}
	r, ok := d.Resource(name)
	if !ok {
		return r, 0, domain.Errorf(domain.NotFound, "device resource %.80q does not exist in profile %q; correct the name", name, profile)
	}
	return r, row.Revision, nil
}

func missingProfile(name string) error {
	return domain.Errorf(domain.NotFound, "device profile name %.80q does not exist; correct the name", name)
}
