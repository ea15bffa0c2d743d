package store

import (
	"reflect"

	"ledge/domain"
)

// requestOverhead is what a waiting request costs beyond its texts and bodies, in bytes; an estimate.
const requestOverhead = 512

// sizeOf estimates the memory that a request keeps while it waits, in bytes: the queue's bound must hold for large
// bodies, and a command knows nothing of how it will be stored.
func sizeOf(r domain.Request) int {
	command := r.Command
	if c, ok := command.(domain.IfMatch); ok {
		command = c.Change
	}
	return requestOverhead + len(r.CorrelationID) + textsIn(reflect.ValueOf(command), 6)
}

func textsIn(v reflect.Value, depth int) int {
	if depth == 0 {
		return 0
	}
	n := 0
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return textsIn(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += textsIn(v.Field(i), depth-1)
		}
	case reflect.Slice:
		if size := int(v.Type().Elem().Size()); v.Type().Elem().Kind() <= reflect.Complex128 {
			return v.Len() * size
		}
		for i := range v.Len() {
			n += textsIn(v.Index(i), depth-1)
		}
	case reflect.Map:
		if v.Type() == dicts && v.CanInterface() {
			return textsOf(v.Interface().(map[string]map[string]string))
		}
		for it := v.MapRange(); it.Next(); {
			n += textsIn(it.Key(), depth-1) + textsIn(it.Value(), depth-1)
		}
	}
	return n
}

// dicts is the type of a device's protocols, which most requests have: reflect would copy each key and value.
var dicts = reflect.TypeFor[map[string]map[string]string]()

func textsOf(m map[string]map[string]string) (n int) {
	for name, inner := range m {
		n += len(name)
		for key, value := range inner {
			n += len(key) + len(value)
		}
	}
	return n
}
