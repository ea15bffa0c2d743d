package handlers

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const sendAnObject = "send one object: {…}"

// Format is a way in which an object is written.
type Format struct {
	// Name is what messages call it.
	Name string
	// Unmarshal decodes it; a *json.UnmarshalTypeError names the first field that has a wrong type, a *domain.Error says all.
	Unmarshal func(data []byte, v any) error
}

// JSON is the format of most bodies.
var JSON = Format{"JSON", json.Unmarshal}

// ReadObject returns the body of a request, which is one JSON object with a Head, bounded as an element of a batch is.
func ReadObject[E any, H head[E]](a *API, c *gin.Context) (*E, error) {
	data, err := a.ReadBody(c, a.BodyBytes)
	if err != nil {
		return nil, err
	}
	if err := a.checkLength(data, "the body"); err != nil {
		return nil, err
	}
	room := a.EntryMemory(c)
	if err := room.Hold(Entries(data)); err != nil {
		return nil, err
	}
	if room.held > 0 {
		bodyOf(c).held += room.held // until the request's end
	}
	return DecodeObject[E, H](a, data, JSON)
}

// DecodeObject decodes one object with a Head.
func DecodeObject[E any, H head[E]](a *API, data []byte, f Format) (*E, error) {
	e, err := Decode[E](data, f)
	if err != nil {
		return nil, err
	}
	if f.Name == JSON.Name {
		if err := checkWrapper(e, data); err != nil {
			return nil, err
		}
		unknown := unknownIn(data, "", reflect.TypeFor[E]())
		H(e).RequestHead().ignored = unknown.Message()
	}
	return e, H(e).RequestHead().Check(a.APIVersion).Err()
}

// Decode decodes one object. What is wrong with it is said by its place: a path, or in JSON that is none line and column.
func Decode[E any](data []byte, f Format) (*E, error) {
	e := new(E)
	if f.Name == JSON.Name {
		if err := checkJSON(data, data, 0); err != nil {
			return nil, err
		}
	}
	err := f.Unmarshal(data, e)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		var p domain.Problems
		addMistyped(&p, "body", data, mistyped)
		return nil, p.Err()
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, malformed(data, syntax, sendAnObject)
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "the body is no %s object: %v; %s", f.Name, err, sendAnObject)
	}
	if f.Name == JSON.Name {
		return e, append(nullsIn(data, "", reflect.TypeFor[E]()), unknownIn(data, "", reflect.TypeFor[E]()).Misspelled...).Err()
	}
	return e, nil
}
