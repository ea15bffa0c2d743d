package devicerest

import (
	"context"
	"io"
	"strings"

	"ledge/domain"
	"ledge/handlers/bodies"
)

// value is a posted body on its way to a reading.
type value struct {
	service
	device      domain.Device
	profile     domain.Profile
	resource    domain.DeviceResource
	contentType string
	limit       int64

	domain.Value
	inline []byte
	digest string
	size   int64
}

// held returns the digest, if the value has one.
func (v *value) held() []string {
	if v.digest == "" {
		return nil
	}
	return []string{v.digest}
}

// setLimit sets the resource's own limit, if it has one.
func (v *value) setLimit() error {
	limit, own, err := v.resource.BodyLimit(v.limit)
	if own {
		v.limit = limit
	}
	return err
}

// read takes the body, in memory up to InlineBytes, else as a stream.
func (v *value) read(ctx context.Context, body *bodies.Body) error {
	whole, ok, err := body.Load(v.InlineBytes)
	if err != nil {
		return err
	}
	if ok {
		return v.keep(ctx, whole)
	}
	return v.stream(ctx, body)
}

func (v *value) keep(ctx context.Context, body []byte) (err error) {
	if len(body) == 0 {
		return domain.Errorf(domain.Invalid, "no request body provided; send the value of resource '%s' as the body", v.resource.Name)
	}
	v.inline, v.size = body, int64(len(body))
	if v.Value, err = domain.ReadValue(v.profile, v.resource, v.contentType, body); err != nil || domain.HeaderBytes(v.Text) <= domain.MaxHeader {
		return err
	}
	return v.keepText(ctx)
}

// keepText keeps a text that is too long for a header of the message as its payload, in place of the body.
func (v *value) keepText(ctx context.Context) (err error) {
	text := v.Text
	v.Text, v.MediaType, v.inline, v.size = "", "text/plain", nil, int64(len(text))
	if v.size <= v.InlineBytes {
		v.inline = []byte(text)
		return nil
	}
	v.digest, v.size, err = v.payloads.Put(ctx, strings.NewReader(text), v.size)
	return err
}

// stream hands the body to Payloads.
func (v *value) stream(ctx context.Context, body *bodies.Body) (err error) {
	if domain.IsWhole(v.profile, v.resource) {
		return domain.Errorf(domain.TooLarge, "resource '%s': a value of type %s that is converted, asserted or mapped has at most %d bytes; send less",
			v.resource.Name, v.Type, v.InlineBytes)
	}
	object := v.Type == "Object"
	var whole io.Reader = body
	var checked *objectReader
	if object {
		checked = newValueReader(whole, v.resource.Name)
		whole = checked
	}
	v.digest, v.size, err = v.payloads.Put(ctx, whole, v.limit)
	switch { // what the reader failed with says more than what Put made of it
	case body.Err != nil:
		return body.Err
	case object && checked.Err != nil:
		return checked.Err
	}
	return err
}
