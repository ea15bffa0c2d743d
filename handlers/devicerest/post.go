package devicerest

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
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
	stamp := s.Stamp(c)
	stamp.EventID = s.NewID() // the request's own answer may be an event as well
	outcomes, err := s.events.Submit(c.Request.Context(), domain.Request{Stamp: stamp, Command: domain.UpdateDevice{
		Patch: domain.PatchOf[domain.Device]("name", c.Param("device"), "operatingState", domain.StateDown), At: stamp.At.UnixMilli(),
	}})
	if err != nil {
		return err
	}
	return outcomes[0].Err
}

// record refuses what it can before it reads of the body, so that a client that waits for 100 Continue sends nothing in
// vain. Only a request with an Idempotency-Key is read all the same: it may be the repetition of one that was answered.
func (s service) record(c *gin.Context) error {
	key, err := s.Key(c)
	if err != nil {
		return err
	}
	memory := s.AnswerMemoryOf(c) // for as long as the value refers to the device and its profile
	defer memory.Release()
	v, refused := s.admit(c, memory)
	if refused != nil && key == "" {
		return refused
	}
	body, err := s.DecodedBody(c, v.limit, "the attribute "+domain.MaxBodyBytes+" of the resource in its profile")
	if err != nil {
		return cmp.Or(refused, err)
	}
	if key != "" {
		return s.postOnce(c, key, v, body, refused)
	}
	command, err := s.newReading(c, v, body)
	if err != nil {
		return err
	}
	return bodies.SubmitReleasing(s.payloads, v.held(), func() (uint64, error) {
		o, err := s.Submit(c, s.readings, command, len(v.inline)+len(v.Text))
		return o.Seq, err
	})
}

// postOnce is record with an Idempotency-Key. What is refused here is not remembered, but a reading that was recorded may
// be repeated also when its device is gone.
func (s service) postOnce(c *gin.Context, key string, v *value, body *bodies.Body, refused error) error {
	sum := body.Sum()
	var command domain.Command
	if refused == nil {
		command, refused = s.newReading(c, v, body)
	}
	digest, err := sum()
	if err != nil {
		return cmp.Or(refused, err)
	}
	if refused != nil {
		command = domain.Recall{Err: refused}
	}
	return bodies.SubmitReleasing(s.payloads, v.held(), func() (uint64, error) {
		_, seq, err := s.Once(c, s.readings, key, digest, command, len(v.inline)+len(v.Text))
		return seq, err
	})
}

// admit returns the value that is going to be posted, as far as its path and its media type say what it is.
func (s service) admit(c *gin.Context, memory *answers.Memory) (*value, error) {
	v := &value{service: s, contentType: c.GetHeader("Content-Type"), limit: s.ResourceBytes}
	var err error
	if v.device, v.profile, v.resource, err = s.find(memory, c.Param("device"), c.Param("resource")); err != nil {
		return v, err
	}
	if err := v.setLimit(); err != nil {
		return v, err
	}
	v.Type = v.resource.Properties.ValueType
	v.MediaType, err = domain.CheckMediaType(v.resource, v.contentType)
	return v, err
}

func (s service) newReading(c *gin.Context, v *value, body *bodies.Body) (domain.Command, error) {
	if err := v.read(c.Request.Context(), body); err != nil {
		return nil, err
	}
	at := s.Now()
	return domain.PostReading{Reading: domain.ReadingPosted{Value: v.inline, Reading: domain.Reading{
		ID: s.NewID(), Event: s.NewID(), Profile: v.device.ProfileName, Device: v.device.Name, Resource: v.resource.Name,
		Units: v.resource.Properties.Units, ValueType: v.Type, MediaType: v.MediaType, Size: v.size, Digest: v.digest,
		Origin: at.UnixNano(), Text: v.Text,
	}}}, nil
}

// find returns a device of this service, its profile and a resource of that. Unlike EdgeX 2.3 it refuses a device that is
// LOCKED and a resource that is write-only.
func (s service) find(memory *answers.Memory, name, resource string) (d domain.Device, p domain.Profile, r domain.DeviceResource, err error) {
	d, p, err = s.device(memory, name, checkLocked)
	if err != nil {
		return d, p, r, err
	}
	r, ok := p.Resource(resource)
	if !ok {
		return d, p, r, domain.Errorf(domain.NotFound, "Resource '%s' not found in the profile '%s' of the device; add it there or correct the resource name", shorten(resource), d.ProfileName)
	}
	if r.Properties.ReadWrite == writeOnly {
		return d, p, r, domain.Errorf(domain.NotAllowed, "Resource '%s' is write-only; set readWrite to R or RW in the profile '%s' or post to another resource", resource, d.ProfileName)
	}
	return d, p, r, nil
}
