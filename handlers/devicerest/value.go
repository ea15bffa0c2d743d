package devicerest

import (
	"bytes"
	"context"
	"io"

	"ledge/domain"
	"ledge/handlers"
)

// value is a posted body on its way to a reading.
type value struct {
	service
	resource    domain.DeviceResource
	contentType string

	mediaType string
	inline    []byte
	digest    string
	size      int64
}

// read takes the body, in memory up to InlineBytes, else as a stream. length is the declared one, -1 for unknown.
func (v *value) read(ctx context.Context, body *handlers.Body, length int64) error {
	if err := v.checkType(); err != nil {
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
			return v.keep(head.Bytes())
		}
	}
	return v.stream(ctx, &head, body)
}

// checkType refuses what the resource's type and the media type refuse already, before a byte is read.
func (v *value) checkType() (err error) {
	switch v.resource.Properties.ValueType {
	case "Object":
		v.mediaType, err = domain.CheckValue(v.resource, v.contentType, []byte("{}"))
	default:
		if !v.isScalar() {
			v.mediaType, err = domain.CheckValue(v.resource, v.contentType, nil)
		}
	}
	return err
}

// isScalar reports whether the text of a value says whether it is one.
func (v *value) isScalar() bool {
	switch v.resource.Properties.ValueType {
	case "Bool", "Uint8", "Uint16", "Uint32", "Uint64", "Int8", "Int16", "Int32", "Int64", "Float32", "Float64":
		return true
	default:
		return false
	}
}

func (v *value) keep(body []byte) (err error) {
	if len(body) == 0 {
		return domain.Errorf(domain.Invalid, "no request body provided; send the value of resource '%s' as the body", v.resource.Name)
	}
	v.inline, v.size = body, int64(len(body))
	v.mediaType, err = domain.CheckValue(v.resource, v.contentType, body)
	return err
}

// stream hands what was read already and the rest of the body to Payloads.
func (v *value) stream(ctx context.Context, head io.Reader, body *handlers.Body) (err error) {
	if v.isScalar() {
		return domain.Errorf(domain.TooLarge, "resource '%s': a value of type %s has at most %d bytes", v.resource.Name, v.resource.Properties.ValueType, v.InlineBytes)
	}
	object := v.resource.Properties.ValueType == "Object"
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
