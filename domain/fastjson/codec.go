// Package fastjson does what encoding/json does, to the byte, in a fraction of its time, for types that are known when the
// program starts.
//
// A [Codec] takes the fields of its type in one pass. Whatever is unusual it leaves to encoding/json: one value, such as a
// string with escapes, or the whole text, such as one with a key that is unknown or there twice, or with a fault. So all
// that is accepted, what comes of it, and the errors are those of encoding/json; a fuzz test holds them together.
//
// One thing is not in encoding/json: a field with the tag order:"n" is written after fields with a lower n. Without the tag n is 0. So a
// type may list its fields in another order than its texts.
package fastjson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Codec decodes and encodes values of one type. Several goroutines may use it at once.
type Codec[T any] struct{ plan *plan }

// Of returns the codec of a type. It panics where encoding/json would write a value in one way and the variable that
// holds it in another, which is so where only the pointer to a type has MarshalJSON or MarshalText.
func Of[T any]() Codec[T] { return Codec[T]{planOf(reflect.TypeFor[T](), nil)} }

// plan is how values of one type are read and written.
type plan struct {
	how    how
	typ    reflect.Type
	elem   *plan // of a list, map or pointer
	fields []field
	place  map[string]int // of a field in fields
}

type how int

const (
	other   how = iota // by encoding/json
	raw                // json.RawMessage
	text               // any string
	flag               // any bool
	signed             // any int
	number             // any uint
	texts              // []string
	dict               // map[string]string
	dicts              // map[string]map[string]string
	list               // a slice
	members            // a map by strings
	pointer            // to a value
	object             // a struct
)

// field is a field of a struct, or of one that is embedded in it.
type field struct {
	name  string
	key   string // `"name":`
	index []int
	omit  omit
	order int
	plan  *plan
}

// omit says when a field is left out.
type omit string

const (
	never omit = ""
	empty omit = "omitempty"
	zero  omit = "omitzero"
)

// mostFields is the number of bits by which an object's keys are told from those that were there already.
const mostFields = 64

var special = map[reflect.Type]how{
	reflect.TypeFor[json.RawMessage]():              raw,
	reflect.TypeFor[[]string]():                     texts,
	reflect.TypeFor[map[string]string]():            dict,
	reflect.TypeFor[map[string]map[string]string](): dicts,
}

// planOf returns the plan of a type that is within others; of one that is within itself, encoding/json takes care.
func planOf(t reflect.Type, within []reflect.Type) *plan {
	p := &plan{typ: t, how: special[t]}
	for _, outer := range within {
		if outer == t {
			return p
		}
	}
	if p.how != other || hasMethods(t) {
		return p
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.String:
		p.how = text
	case reflect.Bool:
		p.how = flag
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.how = signed
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.how = number
	case reflect.Pointer:
		p.how, p.elem = pointer, planOf(t.Elem(), within)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // those are base64
			p.how, p.elem = list, planOf(t.Elem(), within)
		}
	case reflect.Map:
		if elem := planOf(t.Elem(), within); elem.how != other && t.Key() == reflect.TypeFor[string]() {
			p.how, p.elem = members, elem
		}
	case reflect.Struct:
		p.object(within)
	}
	return p
}

// hasMethods reports whether a type says itself how it is read or written.
func hasMethods(t reflect.Type) bool {
	implements := func(t reflect.Type) bool {
		return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
	to := reflect.PointerTo(t)
	if implements(to) && !implements(t) {
		panic(fmt.Sprintf("fastjson: %s can be written by its pointer only", t))
	}
	return implements(t) || to.Implements(reflect.TypeFor[json.Unmarshaler]()) || to.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// object makes the plan of a struct; one that is out of the ordinary is left to encoding/json.
func (p *plan) object(within []reflect.Type) {
	fields, ok := fieldsOf(p.typ, nil, within)
	if !ok || len(fields) > mostFields {
		return
	}
	slices.SortStableFunc(fields, func(a, b field) int { return cmp.Compare(a.order, b.order) })
	place := make(map[string]int, len(fields))
	for i, f := range fields {
		if _, twice := place[f.name]; twice {
			return
		}
		place[f.name] = i
	}
	p.how, p.fields, p.place = object, fields, place
}

func fieldsOf(t reflect.Type, at []int, within []reflect.Type) (fields []field, ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := slices.Concat(at, []int{i})
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && f.IsExported():
			inner, ok := fieldsOf(f.Type, index, within)
			if !ok {
				return nil, false
			}
			fields = append(fields, inner...)
			continue
		case f.Anonymous || !slices.Contains([]omit{never, empty, zero}, omit(options)):
			return nil, false
		case omit(options) == zero && sayZero(f.Type):
			return nil, false
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if !isPlain(name) {
			return nil, false
		}
		order, _ := strconv.Atoi(f.Tag.Get("order")) // 0 without the tag
		fields = append(fields, field{name, `"` + name + `":`, index, omit(options), order, planOf(f.Type, within)})
	}
	return fields, true
}

// sayZero reports whether a type says itself what its zero value is.
func sayZero(t reflect.Type) bool {
	_, ok := reflect.PointerTo(t).MethodByName("IsZero")
	return ok
}

// of returns the field of a struct.
func (f *field) of(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		v = v.Field(i)
	}
	return v
}

// isPlain reports whether a text stands in JSON as it is, and is all printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if !plain[s[i]] {
			return false
		}
	}
	return true
}

// plain are the characters that encoding/json does not escape, less those beyond ASCII.
var plain = func() (is [256]bool) {
	for c := byte(' '); c <= '~'; c++ {
		is[c] = !strings.ContainsRune(`"\<>&`, rune(c))
	}
	return is
}()
