package handlers

import (
	"reflect"

	"github.com/gin-gonic/gin"

	"ledge/handlers/jsonform"
)

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
	if err := room.Hold(jsonform.CountEntries(data)); err != nil {
		return nil, err
	}
	room.KeepUntilEnd(c)
	return DecodeObject[E, H](a, data, jsonform.JSON)
}

// DecodeObject decodes one object with a Head.
func DecodeObject[E any, H head[E]](a *API, data []byte, f jsonform.Format) (*E, error) {
	e, err := jsonform.Decode[E](data, f)
	if err != nil {
		return nil, err
	}
	if f.Name == jsonform.JSON.Name {
		if err := jsonform.CheckWrapper(e, data); err != nil {
			return nil, err
		}
		unknown := jsonform.FindUnknown(data, "", reflect.TypeFor[E]())
		H(e).RequestHead().ignored = unknown.Message()
	}
	return e, H(e).RequestHead().Check(a.APIVersion).Err()
}
