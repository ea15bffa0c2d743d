package handlers

import (
	"reflect"

	"github.com/gin-gonic/gin"

	"ledge/handlers/jsonform"
)

// ReadObject returns the body of a request, which is one JSON object with a Head, bounded as an element of a batch is.
func ReadObject[E any, H head[E]](a *API, c *gin.Context) (*E, error) {
	data, err := readObject(a, c)
	if err != nil {
		return nil, err
	}
	return DecodeObject[E, H](a, data, jsonform.JSON)
}

// ReadWrapped is [ReadObject] for an object that has an entity, or the patch of one, beside its head.
func ReadWrapped[X any](a *API, c *gin.Context, w Wrapper[X]) (h Head, x X, err error) {
	data, err := readObject(a, c)
	if err != nil {
		return h, x, err
	}
	v := reflect.New(w.shape)
	if err := jsonform.DecodeInto(data, jsonform.JSON, v.Interface()); err != nil {
		return h, x, err
	}
	entity := w.entity(v.Elem())
	if err := jsonform.CheckWrapper(entity, w.key, data); err != nil {
		return h, x, err
	}
	h = headOf(v.Elem())
	return h, w.read(entity), h.Check(a.APIVersion).Err()
}

// readObject reads a body and takes hold of the memory for its entries.
func readObject(a *API, c *gin.Context) ([]byte, error) {
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
	if room.held > 0 {
		bodyOf(c).held += room.held // until the request's end
	}
	return data, nil
}

// DecodeObject decodes one object with a Head.
func DecodeObject[E any, H head[E]](a *API, data []byte, f jsonform.Format) (*E, error) {
	e, err := jsonform.Decode[E](data, f)
	if err != nil {
		return nil, err
	}
	if f.Name == jsonform.JSON.Name {
		if key, i := jsonform.WrapperOf(reflect.TypeFor[E]()); key != "" {
			if err := jsonform.CheckWrapper(reflect.ValueOf(e).Elem().Field(i), key, data); err != nil {
				return nil, err
			}
		}
		unknown := jsonform.FindUnknown(data, "", reflect.TypeFor[E]())
		H(e).RequestHead().ignored = unknown.Message()
	}
	return e, H(e).RequestHead().Check(a.APIVersion).Err()
}
