package handlers

import (
	"encoding/json"
	"errors"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const sendAnObject = "send one object: {…}"

// Format is a way in which an object is written.
type Format struct {
	// Name is what messages call it.
	Name string
	// Unmarshal decodes it; a *json.UnmarshalTypeError names the first field that has a wrong type.
	Unmarshal func(data []byte, v any) error
}

var formatJSON = Format{"JSON", json.Unmarshal}

// ReadObject returns the body of a request, which is one JSON object with a Head, bounded as an element of a batch is.
func ReadObject[E any, H head[E]](a *API, c *gin.Context) (*E, error) {
	data, err := a.ReadBody(c, a.BodyBytes, "the setting limit-json-bytes")
	if err != nil {
		return nil, err
	}
	if err := checkSize(data, Entries(data), func() string { return "the body" }); err != nil {
		return nil, err
	}
	return DecodeObject[E, H](a, data, formatJSON)
}

// DecodeObject decodes one object with a Head.
func DecodeObject[E any, H head[E]](a *API, data []byte, f Format) (*E, error) {
	e := new(E)
	var p domain.Problems
	err := f.Unmarshal(data, e)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		addMistyped(&p, "body", mistyped)
		return nil, p.Err()
	}
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "the body is no %s object: %v; %s", f.Name, err, sendAnObject)
	}
	p = H(e).RequestHead().Check(a.APIVersion)
	return e, p.Err()
}
