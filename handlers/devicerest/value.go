package devicerest

import (
	"bytes"
	"context"
	"io"
	"strings"

	"ledge/domain"
	"ledge/handlers"
)

// maxTextHeader is how many bytes of a value's text go in a header of the message, beside the posted body; a longer text
// is the message's payload, in place of the body.
const maxTextHeader = 4 << 10

// value is a posted body on its way to a reading.
type value struct {
	service
	profile     domain.Profile
	resource    domain.DeviceResource
	contentType string

	domain.Value
	inline []byte
	digest string
	size   int64
}

// read takes the body, in memory up to InlineBytes, else as a stream. length is the declared one, -1 for unknown.
func (v *value) read(ctx context.Context, body *handlers.Body, length int64) (err error) {
	v.Type = v.resource.Properties.ValueType
	if v.MediaType, err = domain.CheckMediaType(v.resource, v.contentType); err != nil { // before a byte is read
		return err
	}
	var head bytes.Buffer
	if length > 0 && length <= v.InlineBytes {
		head.Grow(int(length) + bytes.MinRead)
	}
	if length <= v.InlineBytes { // also when unknown
		if _, err := head.ReadFrom(io.LimitReader(body, v.InlineBytes+1)); err != nil {
			return err
		}
		if int64(head.Len()) <= v.InlineBytes {
			return v.keep(ctx, head.Bytes())
		}
	}
	return v.stream(ctx, &head, body)
}

func (v *value) keep(ctx context.Context, body []byte) (err error) {
	if len(body) == 0 {
		return domain.Errorf(domain.Invalid, "no request body provided; send the value of resource '%s' as the body", v.resource.Name)
	}
	v.inline, v.size = body, int64(len(body))
	if v.Value, err = domain.ReadValue(v.profile, v.resource, v.contentType, body); err != nil || len(v.Text) <= maxTextHeader {
		return err
	}
	return v.keepText(ctx)
}

// keepText keeps the text in place of the body.
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

// stream hands what was read already and the rest of the body to Payloads.
func (v *value) stream(ctx context.Context, head io.Reader, body *handlers.Body) (err error) {
	if domain.IsWhole(v.profile, v.resource) {
		return domain.Errorf(domain.TooLarge, "resource '%s': a value of type %s that is converted, asserted or mapped has at most %d bytes; send less or raise the setting limit-inline-bytes",
			v.resource.Name, v.Type, v.InlineBytes)
	}
	object := v.Type == "Object"
	whole := io.MultiReader(head, body)
	var checked *objectReader
	if object {
		checked = newObjectReader(whole, v.resource.Name)
		whole = checked
	}
	v.digest, v.size, err = v.payloads.Put(ctx, whole, v.ResourceBytes)
	switch { // what the reader failed with says more than what Put made of it
	case body.Err != nil:
		return body.Err
	case object && checked.Err != nil:
		return checked.Err
	}
	return err
}
