package devicerest

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// postValue records the body as a value of the resource in the path: 200 with an empty body.
func (s service) postValue(c *gin.Context) {
	if err := s.post(c); err != nil {
		status, message := s.Describe(c, err)
		http.Error(c.Writer, message, status)
		return
	}
	c.Header("Content-Length", "0")
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
}

// post records the value. What fails its assertion is refused, and its device is DOWN before that is answered.
func (s service) post(c *gin.Context) error {
	err := s.record(c)
	if _, failed := errors.AsType[*domain.AssertionError](err); failed {
		return cmp.Or(s.takeDown(c), err)
	}
	return err
}

// takeDown gives the device of the path the operatingState DOWN; one that has it stays as it is.
func (s service) takeDown(c *gin.Context) error {
	name, down, stamp := c.Param("device"), domain.StateDown, s.Stamp(c)
	outcomes, err := s.events.Submit(c.Request.Context(), domain.Request{Stamp: stamp, Command: domain.UpdateDevice{
		Patch: domain.DevicePatch{Name: &name, OperatingState: &down}, At: stamp.At.UnixMilli(),
	}})
	if err != nil {
		return err
	}
	return outcomes[0].Err
}

func (s service) record(c *gin.Context) error {
	key, err := s.Key(c)
	if err != nil {
		return err
	}
	body, err := s.Body(c, s.ResourceBytes, "limit-resource-bytes") // first, since it costs nothing to refuse what is too large
	if err != nil {
		return err
	}
	if key != "" {
		return s.postOnce(c, key, body)
	}
	command, err := s.newReading(c, body)
	if err == nil {
		_, err = s.Submit(c, s.readings, command)
	}
	return err
}

// postOnce is post with an Idempotency-Key. What is refused here is not remembered, but a reading that was recorded may
// be repeated also when its device is gone.
func (s service) postOnce(c *gin.Context, key string, body *handlers.Body) error {
	sum := body.Sum()
	command, refused := s.newReading(c, body)
	digest, err := sum()
	if err != nil {
		return cmp.Or(refused, err)
	}
	if refused != nil {
		command = domain.Recall{Err: refused}
	}
	_, _, err = s.Once(c, s.readings, key, digest, command)
	return err
}

func (s service) newReading(c *gin.Context, body *handlers.Body) (domain.Command, error) {
	device, profile, resource, err := s.find(c.Param("device"), c.Param("resource"))
	if err != nil {
		return nil, err
	}
	v := value{service: s, profile: profile, resource: resource, contentType: c.GetHeader("Content-Type")}
	if err := v.read(c.Request.Context(), body, c.Request.ContentLength); err != nil {
		return nil, err
	}
	at := s.Now()
	return domain.PostReading{Reading: domain.ReadingPosted{Value: v.inline, Reading: domain.Reading{
		ID: s.NewID(), Event: s.NewID(), Profile: device.ProfileName, Device: device.Name, Resource: resource.Name,
		Units: resource.Properties.Units, ValueType: v.Type, MediaType: v.MediaType, Size: v.size, Digest: v.digest,
		Origin: at.UnixNano(), Text: v.Text,
	}}}, nil
}

// find returns a device of this service, its profile and a resource of that. Unlike EdgeX 2.3 it refuses a device that is
// LOCKED or DOWN and a resource that is write-only, unless CheckState says otherwise.
func (s service) find(name, resource string) (d domain.Device, p domain.Profile, r domain.DeviceResource, err error) {
	d, p, err = s.device(name, s.CheckState)
	if err != nil {
		return d, p, r, err
	}
	r, ok := p.Resource(resource)
	if !ok {
		return d, p, r, domain.Errorf(domain.NotFound, "Resource '%s' not found in the profile '%s' of the device; add it there or correct the resource name", shorten(resource), d.ProfileName)
	}
	if s.CheckState && r.Properties.ReadWrite == writeOnly {
		return d, p, r, domain.Errorf(domain.NotAllowed, "Resource '%s' is write-only; set readWrite to R or RW in the profile '%s' or post to another resource", resource, d.ProfileName)
	}
	return d, p, r, nil
}
