// Package jsonform decodes the objects that clients send in JSON, within limits, and reports their faults with the place of each: the line
// and column at which a text stops being JSON, fields of a wrong type, null in lists, unknown keys and the keys that may be meant.
//
// It knows nothing of HTTP. Its errors are domain Errors with the code Invalid.
package jsonform

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"

	"ledge/domain"
)

const sendAnObject = "send one object: {…}"

// Format is a way in which an object is written.
type Format struct {
	// Name is what messages call it.
	Name string
	// Root is what messages call the object; empty for the body.
	Root string
	// Unmarshal decodes it; a *json.UnmarshalTypeError names the first field that has a wrong type, a *domain.Error says all.
	Unmarshal func(data []byte, v any) error
}

// JSON is the format of most bodies.
var JSON = Format{Name: "JSON", Unmarshal: json.Unmarshal}

// Decode decodes one object. What is wrong with it is said by its place: a path, or in JSON that is none line and column.
func Decode[E any](data []byte, f Format) (*E, error) {
	e := new(E)
	return e, DecodeInto(data, f, e)
}

// DecodePatch decodes the patch of an entity in the shape S.
func DecodePatch[S any](data []byte, form domain.PatchForm[S]) (domain.Patch[S], error) {
	v := reflect.New(form.Type())
	if err := DecodeInto(data, JSON, v.Interface()); err != nil {
		return domain.Patch[S]{}, err
	}
	return form.Read(v.Elem()), nil
}

// DecodeInto decodes one object into what e points to.
func DecodeInto(data []byte, f Format, e any) error {
	if f.Name == JSON.Name {
		if err := CheckLimits(data, data, 0); err != nil {
			return err
		}
	}
	err := f.Unmarshal(data, e)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		var p domain.Problems
		AddMistyped(&p, cmp.Or(f.Root, "body"), data, mistyped)
		return p.Err()
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return RefuseMalformed(data, syntax, sendAnObject)
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	if err != nil {
		return domain.Errorf(domain.Invalid, "the body is no %s object: %v; %s", f.Name, err, sendAnObject)
	}
	if f.Name == JSON.Name {
		t := reflect.TypeOf(e).Elem()
		return append(FindNulls(data, "", t), FindUnknown(data, "", t).Misspelled...).Err()
	}
	return nil
}
