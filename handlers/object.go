package handlers

import (
	"encoding/json"
	"errors"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const sendAnObject = "send one object: {…}"

// ReadObject returns the body of a request, which is one JSON object with a Head, bounded as an element of a batch is.
func ReadObject[E any, H head[E]](a *API, c *gin.Context) (*E, error) {
	data, err := a.ReadBody(c, a.BodyBytes, "limit-json-bytes")
	if err != nil {
		return nil, err
	}
	_, _, entries := cutElement(data)
	if err := checkSize(data, entries, func() string { return "the body" }); err != nil {
		return nil, err
	}
	e := new(E)
	var p domain.Problems
	err = json.Unmarshal(data, e)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		addMistyped(&p, "body", mistyped)
		return nil, p.Err()
	}
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "the body is no JSON object: %v; %s", err, sendAnObject)
	}
	p = H(e).RequestHead().check(a.APIVersion)
	return e, p.Err()
}
