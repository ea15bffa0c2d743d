package devicerest

import (
	"io"
	"net/url"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

func (s service) getCommand(c *gin.Context) {
	err := checkEventQuery(c.Request.URL.RawQuery)
	if err == nil {
		err = s.refuse(c, writeOnly, "write-only", "read")
	}
	s.Fail(c, err)
}

func (s service) putCommand(c *gin.Context) {
	err := s.checkSettings(c)
	if err == nil {
		err = s.refuse(c, readOnly, "read-only", "write")
	}
	s.Fail(c, err)
}

// refuse says why a command is not carried out: in the end, because no device can be asked. banned is the readWrite that
// does not allow it.
func (s service) refuse(c *gin.Context, banned, words, verb string) error {
	name, command := c.Param("name"), c.Param("command")
	memory := s.AnswerMemoryOf(c)
	defer memory.Release()
	d, p, err := s.device(memory, name, checkUsable)
	if err != nil {
		return err
	}
	readWrite, ok := commandOf(p, command)
	if !ok {
		return domain.Errorf(domain.NotFound, "Command or resource '%s' not found in the profile '%s' of the device; add it there or correct the command name", shorten(command), d.ProfileName)
	}
	if readWrite == banned {
		return domain.Errorf(domain.NotAllowed, "'%s' is %s; ask for another or change its readWrite in the profile '%s'", command, words, d.ProfileName)
	}
	// EdgeX 2.3 answers 500 here.
	return domain.Errorf(domain.Rejected, "%s commands are not supported: the values of '%s' are posted to /api/%s/resource/%s/…, and it cannot be asked",
		verb, name, s.APIVersion, name)
}

// commandOf returns the readWrite of the device command of that name or, where there is none, of the resource.
func commandOf(p domain.Profile, name string) (readWrite string, ok bool) {
	for _, c := range p.DeviceCommands {
		if c.Name == name {
			return c.ReadWrite, true
		}
	}
	r, ok := p.Resource(name)
	return r.Properties.ReadWrite, ok
}

// checkEventQuery refuses what EdgeX takes for a no: ds-pushevent and ds-returnevent with another value than yes and no.
func checkEventQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return domain.Errorf(domain.Invalid, "the query is malformed: %v; escape characters that a URL cannot have", err)
	}
	var p domain.Problems
	for _, key := range []string{"ds-pushevent", "ds-returnevent"} {
		if value := query.Get(key); query.Has(key) && value != "yes" && value != "no" {
			p.Add(key, "%.80q is unknown; use one of yes, no", value)
		}
	}
	return p.Err()
}

// checkSettings refuses a body that is no JSON object, without loading it. There need not be one.
func (s service) checkSettings(c *gin.Context) error {
	if c.Request.ContentLength == 0 {
		return nil
	}
	body, err := s.Body(c, s.BodyBytes, "")
	if err != nil {
		return err
	}
	checked := newObjectReader(body, c.Param("command"))
	_, err = io.Copy(io.Discard, checked)
	return err
}
