package metadata

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/pelletier/go-toml/v2"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/answers"
)

const typeTOML = "application/toml"

func (s service) unitRoutes() []handlers.Route {
	return []handlers.Route{{Method: "GET", Path: "/uom", Right: domain.MayRead, Handle: s.getUnits}}
}

// getUnits answers in JSON or, where the client accepts nothing but TOML, in TOML without an envelope, as EdgeX 2.3.
func (s service) getUnits(c *gin.Context) {
	shape := shapeUnits(s.Units)
	if !strings.EqualFold(c.GetHeader("Accept"), typeTOML) {
		s.Reply(c, http.StatusOK, unitsAnswer{s.Envelope(http.StatusOK), shape})
		return
	}
	text, err := toml.Marshal(shape)
	if err != nil {
		s.Fail(c, fmt.Errorf("encode units of measure: %w", err))
		return
	}
	c.Data(http.StatusOK, typeTOML, text)
}

// checkUnits refuses resources whose units are not listed. EdgeX 2.3 answers 400 here, for the profile alone.
func (s service) checkUnits(resources ...domain.DeviceResource) error {
	if s.listed == nil {
		return nil
	}
	var p domain.Problems
	for _, r := range resources {
		if unit := r.Properties.Units; unit != "" && !s.listed[unit] {
			p.Add(fmt.Sprintf("device resource %.80q", r.Name), "units %.80q are not listed; use some that GET /api/%s/uom lists", unit, s.APIVersion)
		}
	}
	return p.Err()
}

// refuseResource is checkUnits for a resource that is added to a profile. EdgeX 2.3 looks for the profile first.
func (s service) refuseResource(profile string, r domain.DeviceResource) error {
	err := s.checkUnits(r)
	if err != nil && !s.hasProfile(profile) {
		return missingProfile(profile)
	}
	return err
}

func (s service) hasProfile(name string) bool {
	view, done := s.state()
	defer done()
	row := domain.GetWithin(view.State.Profiles, name, answers.LargeBytes, new(domain.Profile))
	return row.OK || row.Size > 0
}

// newListed returns the units that resources may have, nil for any.
func newListed(o handlers.Options) map[string]bool {
	if !o.ValidateUnits {
		return nil
	}
	return o.Units.Listed()
}
