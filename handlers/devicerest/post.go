package devicerest

import (
	"cmp"
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

func (s service) post(c *gin.Context) error {
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
		_, err = s.Submit(c, s.log, command)
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
	_, _, err = s.Once(c, s.log, key, digest, command)
	return err
}

func (s service) newReading(c *gin.Context, body *handlers.Body) (domain.Command, error) {
	device, resource, err := s.find(c.Param("device"), c.Param("resource"))
	if err != nil {
		return nil, err
	}
	v := value{service: s, resource: resource, contentType: c.GetHeader("Content-Type")}
	if err := v.read(c.Request.Context(), body, c.Request.ContentLength); err != nil {
		return nil, err
	}
	at := s.Now()
	return domain.PostReading{Reading: domain.ReadingPosted{Value: v.inline, Reading: domain.Reading{
		ID: s.NewID(), Event: s.NewID(), Profile: device.ProfileName, Device: device.Name, Resource: resource.Name,
		Units: resource.Properties.Units, ValueType: resource.Properties.ValueType, MediaType: v.mediaType, Size: v.size, Digest: v.digest,
		Origin: at.UnixNano(),
	}}}, nil
}

// find returns a device of this service and a resource of its profile. Like EdgeX 2.3 it looks neither at adminState
// nor at operatingState nor at readWrite.
func (s service) find(name, resource string) (d domain.Device, r domain.DeviceResource, err error) {
	view, done := s.state()
	defer done()
	d, ok := view.State.Devices.Get(name)
	if !ok {
		return d, r, domain.Errorf(domain.NotFound, "Device '%s' not found; add it at core-metadata first or correct the device name", shorten(name))
	}
	if d.ServiceName != domain.DeviceREST {
		return d, r, domain.Errorf(domain.NotFound, "Device '%s' not found: its serviceName is '%s'; change that to '%s' or correct the device name", name, d.ServiceName, domain.DeviceREST)
	}
	p, _ := view.State.Profiles.Get(d.ProfileName)
	if r, ok = p.Resource(resource); !ok {
		return d, r, domain.Errorf(domain.NotFound, "Resource '%s' not found in the profile '%s' of the device; add it there or correct the resource name", shorten(resource), d.ProfileName)
	}
	return d, r, nil
}

func shorten(name string) string {
	if len(name) > domain.MaxName {
		return name[:domain.MaxName] + "…"
	}
	return name
}
