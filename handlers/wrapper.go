package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ledge/domain"
	"ledge/domain/fastjson"
)

// maxUnknown is how many unknown keys of one object a message names.
const maxUnknown = 8

// misnamed notes what an object that lacks its entity has in place of it. It notes nothing where the entity is there.
func misnamed(object []byte, entity string) (p domain.Problems) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(object, &keys) != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch {
		case strings.EqualFold(key, entity):
			return nil
		case strings.EqualFold(key, "apiVersion"), strings.EqualFold(key, "requestId"):
		case len(p) < maxUnknown:
			p.Add(shortKey(key), "is an unknown key; write %q in its place", entity)
		}
	}
	return p
}

func shortKey(key string) string { return cutTo(key, 80) }

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

// wrapperOf returns the key under which a request has its entity, with the index of the field; empty where it has several or none.
func wrapperOf(t reflect.Type) (key string, index int) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			continue
		}
		if key != "" {
			return "", 0
		}
		key, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		index = i
	}
	return key, index
}

// checkWrapper refuses an object whose entity, which belongs under key, is missing while it has keys that are unknown.
func checkWrapper(entity reflect.Value, key string, object []byte) error {
	if !entity.IsZero() {
		return nil
	}
	return misnamed(object, key).Err()
}
