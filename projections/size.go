package projections

import (
	"bytes"
	"reflect"
	"sync"
)

// sizeOf returns the bytes that a value takes in memory, with all that it refers to.
func sizeOf[S any](s *S) int {
	v := reflect.ValueOf(s).Elem()
	return perKey + int(v.Type().Size()) + measure(v)
}

// refers caches, by type, whether its values refer to memory of their own.
var refers sync.Map

// measure returns the bytes that a value refers to.
func measure(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice:
		if n = v.Len() * int(v.Type().Elem().Size()); flat(v.Type().Elem()) {
			return n
		}
		for i := range v.Len() {
			n += measure(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += measure(v.Field(i))
		}
	case reflect.Map:
		if v.CanInterface() { // the maps of devices, without copies of their keys and values
			switch m := v.Interface().(type) {
			case map[string]string:
				return measureText(m)
			case map[string]map[string]string:
				for key, inner := range m {
					n += perText + len(key) + measureText(inner)
				}
				return n
			}
		}
		for each := v.MapRange(); each.Next(); {
			n += int(v.Type().Key().Size()+v.Type().Elem().Size()) + measure(each.Key()) + measure(each.Value())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = int(v.Elem().Type().Size()) + measure(v.Elem())
		}
	}
	return n
}

// perText is the bytes of a key and a value that are strings.
const perText = 32

func measureText(m map[string]string) (n int) {
	for key, text := range m {
		n += perText + len(key) + len(text)
	}
	return n
}

// flat reports whether values of a type refer to nothing.
func flat(t reflect.Type) bool {
	if known, ok := refers.Load(t); ok {
		return !known.(bool)
	}
	yes := true
	switch t.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		yes = false
	case reflect.Struct:
		for i := range t.NumField() {
			yes = yes && flat(t.Field(i).Type)
		}
	}
	refers.Store(t, !yes)
	return yes
}

// largeRow is from where on an entity is large, in bytes: what it takes while it is in work matters.
const largeRow = 16 << 10

// A large entity in work is there as its row is decoded and as text, which grows while it is written. Each entry of its lists and objects
// takes so many bytes beside that.
const (
	copiesInWork = 3
	entryInWork  = 200
)

// inWork is what an entity of so many bytes takes while it is read and written as JSON.
func inWork(bytes, entries int) int {
	if bytes <= largeRow {
		return bytes
	}
	return copiesInWork*bytes + entryInWork*entries
}

// rowInWork is inWork of a row. Each entry but the first of a list or an object comes after a comma; others may be in texts.
func rowInWork(row []byte) int {
	if len(row) <= largeRow {
		return len(row)
	}
	return inWork(len(row), bytes.Count(row, []byte(",")))
}
