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
	data, err := readObject(a, c)
	if err != nil {
		return nil, err
	}
	return DecodeObject[E, H](a, data, JSON)
}

// ReadWrapped is [ReadObject] for an object that has an entity, or the patch of one, beside its head.
func ReadWrapped[X any](a *API, c *gin.Context, w Wrapper[X]) (h Head, x X, err error) {
	data, err := readObject(a, c)
	if err != nil {
		return h, x, err
	}
	v := reflect.New(w.shape)
	if err := decodeInto(data, JSON, v.Interface()); err != nil {
		return h, x, err
	}
	entity := w.entity(v.Elem())
	if err := checkWrapper(entity, w.key, data); err != nil {
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
	if err := room.Hold(Entries(data)); err != nil {
		return nil, err
	}
	if room.held > 0 {
		bodyOf(c).held += room.held // until the request's end
	}
	return data, nil
}

// DecodeObject decodes one object with a Head.
func DecodeObject[E any, H head[E]](a *API, data []byte, f Format) (*E, error) {
	e, err := Decode[E](data, f)
	if err != nil {
		return nil, err
	}
	if f.Name == JSON.Name {
		if key, i := wrapperOf(reflect.TypeFor[E]()); key != "" {
			if err := checkWrapper(reflect.ValueOf(e).Elem().Field(i), key, data); err != nil {
				return nil, err
			}
		}
		unknown := unknownIn(data, "", reflect.TypeFor[E]())
		H(e).RequestHead().ignored = unknown.Message()
	}
	return e, H(e).RequestHead().Check(a.APIVersion).Err()
}

// Decode decodes one object. What is wrong with it is said by its place: a path, or in JSON that is none line and column.
func Decode[E any](data []byte, f Format) (*E, error) {
	e := new(E)
	return e, decodeInto(data, f, e)
}

// DecodePatch decodes the patch of an entity in the shape S.
func DecodePatch[S any](data []byte, form domain.PatchForm[S]) (domain.Patch[S], error) {
	v := reflect.New(form.Type())
	if err := decodeInto(data, JSON, v.Interface()); err != nil {
		return domain.Patch[S]{}, err
	}
	return form.Read(v.Elem()), nil
}

// decodeInto decodes one object into what e points to.
func decodeInto(data []byte, f Format, e any) error {
	if f.Name == JSON.Name {
		if err := checkJSON(data, data, 0); err != nil {
			return err
		}
	}
	err := f.Unmarshal(data, e)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		var p domain.Problems
		addMistyped(&p, "body", data, mistyped)
		return p.Err()
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return malformed(data, syntax, sendAnObject)
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	if err != nil {
		return domain.Errorf(domain.Invalid, "the body is no %s object: %v; %s", f.Name, err, sendAnObject)
	}
	if f.Name == JSON.Name {
		t := reflect.TypeOf(e).Elem()
		return append(nullsIn(data, "", t), unknownIn(data, "", t).Misspelled...).Err()
	}
	return nil
}
