package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"ledge/domain"
	"ledge/domain/spelling"
)

// keyShape is what keys a JSON value may have: those of an object, or those of the entries of a list. Nil is any.
type keyShape struct {
	names  []string
	fields map[string]*keyShape
	list   *keyShape
}

var keyShapes sync.Map // of *keyShape by reflect.Type

// keysOf returns the keys of JSON for a type. A map has any, and so has what decodes itself.
func keysOf(t reflect.Type) *keyShape {
	if known, ok := keyShapes.Load(t); ok {
		return known.(*keyShape)
	}
	sh := newKeyShape(t)
	keyShapes.Store(t, sh)
	return sh
}

func newKeyShape(t reflect.Type) *keyShape {
	if t.Kind() == reflect.Pointer {
		return newKeyShape(t.Elem())
	}
	if q := reflect.PointerTo(t); q.Implements(jsonUnmarshaler) || q.Implements(textUnmarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		if of := newKeyShape(t.Elem()); of != nil {
			return &keyShape{list: of}
		}
	case reflect.Struct:
		sh := &keyShape{fields: map[string]*keyShape{}}
		sh.addFields(t)
		return sh
	}
	return nil
}

func (sh *keyShape) addFields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			sh.addFields(f.Type)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			sh.names = append(sh.names, name)
			sh.fields[name] = newKeyShape(f.Type)
		}
	}
}

// field returns the shape of a key's value. Like encoding/json it does not look at the case of letters.
func (sh *keyShape) field(key []byte) (of *keyShape, known bool) {
	if of, known = sh.fields[string(key)]; known {
		return of, true
	}
	for _, name := range sh.names {
		if len(name) == len(key) && strings.EqualFold(name, string(key)) {
			return sh.fields[name], true
		}
	}
	return nil, false
}

// knows reports whether all keys of the JSON value at i are known, and returns where the value ends. The text is JSON.
func (sh *keyShape) knows(text []byte, i int) (end int, ok bool) {
	i = afterSpace(text, i)
	switch {
	case i >= len(text):
		return i, true
	case text[i] == '{' && sh != nil && sh.fields != nil:
		return sh.knowsObject(text, i+1)
	case text[i] == '[' && sh != nil && sh.list != nil:
		return sh.list.knowsList(text, i+1)
	}
	value, _, _ := cutElement(text[i:])
	return i + len(value), true
}

func (sh *keyShape) knowsObject(text []byte, i int) (end int, ok bool) {
	for {
		if i = afterSpace(text, i); i >= len(text) || text[i] == '}' {
			return i + 1, true
		}
		if text[i] == ',' {
			i = afterSpace(text, i+1)
		}
		if i >= len(text) || text[i] != '"' {
			return len(text), true // no JSON
		}
		quote := endOfString(text, i)
		of, known := sh.field(text[min(i+1, quote):quote])
		if !known {
			return 0, false
		}
		colon := bytes.IndexByte(text[quote:], ':')
		if colon < 0 {
			return len(text), true
		}
		if i, ok = of.knows(text, quote+colon+1); !ok {
			return 0, false
		}
	}
}

func (sh *keyShape) knowsList(text []byte, i int) (end int, ok bool) {
	for {
		if i = afterSpace(text, i); i >= len(text) || text[i] == ']' {
			return i + 1, true
		}
		if text[i] == ',' {
			i++
		}
		end, ok := sh.knows(text, i)
		if !ok {
			return 0, false
		}
		if end == i {
			return len(text), true // no JSON
		}
		i = end
	}
}

func afterSpace(text []byte, i int) int {
	for i < len(text) && strings.IndexByte(jsonSpace, text[i]) >= 0 {
		i++
	}
	return i
}

// unknownKeys are the keys of an object that nothing is read from.
type unknownKeys struct {
	misspelled domain.Problems // they are like a key that is missing
	ignored    []string        // the others, by their paths
}

// unknownIn looks for unknown keys in an object of a type. Keys of maps, such as protocols and attributes, are all known.
func unknownIn(object []byte, path string, t reflect.Type) (u unknownKeys) {
	sh := keysOf(t)
	if _, ok := sh.knows(object, 0); ok {
		return u
	}
	var v any
	if json.Unmarshal(object, &v) == nil {
		u.add(path, v, sh)
	}
	return u
}

func (u *unknownKeys) add(path string, v any, sh *keyShape) {
	switch v := v.(type) {
	case map[string]any:
		if sh == nil || sh.fields == nil {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+shortKey(key), ".")
			if of, known := sh.field([]byte(key)); known {
				u.add(at, v[key], of)
			} else if meant := sh.meant(key, v); meant != "" {
				u.misspelled.Add(at, "is an unknown key; did you mean %s?", meant)
			} else if len(u.ignored) <= maxUnknown && !strings.EqualFold(key, "apiVersion") { // which clients of EdgeX 2.0 put into each object
				u.ignored = append(u.ignored, at)
			}
		}
	case []any:
		if sh == nil || sh.list == nil {
			return
		}
		for i, e := range v {
			u.add(fmt.Sprintf("%s[%d]", path, i), e, sh.list)
		}
	}
}

// A key is taken for a misspelled one if it is at most so many edits from a known one of so many letters.
const (
	mostEdits    = 2
	leastLetters = 5
)

// meant returns the key of the shape that an object lacks and that an unknown key is most like, or "".
func (sh *keyShape) meant(key string, object map[string]any) (best string) {
	least := mostEdits + 1
	for _, name := range sh.names {
		if len(name) < leastLetters || max(len(key)-len(name), len(name)-len(key)) > mostEdits || hasKey(object, name) {
			continue
		}
		if d := spelling.Distance(strings.ToLower(key), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

func hasKey(object map[string]any, name string) bool {
	for key := range object {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// message names the keys that were ignored, "" for none.
func (u *unknownKeys) message() string {
	switch n := len(u.ignored); {
	case n == 0:
		return ""
	case n > maxUnknown:
		return "ignored, because unknown: " + strings.Join(u.ignored[:maxUnknown], ", ") + ", and others"
	default:
		return "ignored, because unknown: " + strings.Join(u.ignored, ", ")
	}
}
