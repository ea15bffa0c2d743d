package handlers

import (
	"fmt"
	"reflect"

	"ledge/domain"
	"ledge/domain/fastjson"
)

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
