package handlers

import (
	"fmt"
	"reflect"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/fastjson"
	"ledge/handlers/jsonform"
)

// ReadObject returns the body of a request, which is one JSON object with a Head, bounded as an element of a batch is.
func ReadObject[E any, H head[E]](a *API, c *gin.Context) (*E, error) {
	data, err := ReadText(a, c)
	if err != nil {
		return nil, err
	}
	return DecodeObject[E, H](a, data, jsonform.JSON)
}

// ReadWrapped is [ReadObject] for an object that has an entity, or the patch of one, beside its head.
func ReadWrapped[X any](a *API, c *gin.Context, w Wrapper[X]) (h Head, x X, err error) {
	data, err := ReadText(a, c)
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

// ReadText returns a body of at most ElementBytes, and takes hold of the memory for its entries in JSON until the request ends.
func ReadText(a *API, c *gin.Context) ([]byte, error) {
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

// Wrapper is the form of a JSON object that has an X under a key, beside its Head: an entity, or the patch of one.
type Wrapper[X any] struct {
	key    string
	shape  reflect.Type // a struct of the two fields of Head and the entity
	reader fastjson.Reader
	read   func(entity reflect.Value) X
}

// EntityIn returns the wrapper of an entity in the shape S.
func EntityIn[S any](key string) Wrapper[*S] {
	return newWrapper(key, reflect.TypeFor[S](), func(v reflect.Value) *S { return v.Addr().Interface().(*S) })
}

// PatchIn returns the wrapper of a patch of an entity in the shape S.
func PatchIn[S any](key string) Wrapper[domain.Patch[S]] {
	form := domain.PatchFormOf[S]()
	return newWrapper(key, form.Type(), form.Read)
}

func newWrapper[X any](key string, entity reflect.Type, read func(v reflect.Value) X) Wrapper[X] {
	head := reflect.TypeFor[Head]()
	shape := reflect.StructOf([]reflect.StructField{
		head.Field(0), head.Field(1), {Name: "Entity", Type: entity, Tag: reflect.StructTag(fmt.Sprintf("json:%q", key))},
	})
	return Wrapper[X]{key, shape, fastjson.ReaderOf(shape), read}
}

// Shape is the zero value of the struct that an object is decoded into.
func (w Wrapper[X]) Shape() any { return reflect.Zero(w.shape).Interface() }

// entity returns the entity of an object that was decoded into v.
func (w Wrapper[X]) entity(v reflect.Value) reflect.Value { return v.Field(2) }

// headOf returns the head of an object that was decoded into the shape of a Wrapper.
func headOf(v reflect.Value) Head {
	return Head{APIVersion: v.Field(0).String(), RequestID: v.Field(1).String()}
}
