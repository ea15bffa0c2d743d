package jsonform

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

// Keys are the keys that a JSON value may have: those of an object, or those of the entries of a list. Nil has any.
type Keys struct {
	names  []string
	fields map[string]*Keys
	isList bool
	list   *Keys // of the entries
}

var keysOfTypes sync.Map // of *Keys by reflect.Type

// KeysOf returns the keys of JSON for a type. A map has any, and so has what decodes itself.
func KeysOf(t reflect.Type) *Keys {
	if known, ok := keysOfTypes.Load(t); ok {
		return known.(*Keys)
	}
	sh := newKeys(t)
	keysOfTypes.Store(t, sh)
	return sh
}

// IsObject reports whether a value with these keys is an object.
func (sh *Keys) IsObject() bool { return sh != nil && sh.fields != nil }

// IsList reports whether a value with these keys is a list, and returns the keys of its entries.
func (sh *Keys) IsList() (of *Keys, ok bool) {
	if sh == nil || !sh.isList {
		return nil, false
	}
	return sh.list, true
}

// Exactly returns the keys of a key's value. Unlike field it looks at the case of letters, as the decoder of YAML does.
func (sh *Keys) Exactly(key string) (of *Keys, known bool) {
	of, known = sh.fields[key]
	return of, known
}

// Missing returns the names of an object's keys that it lacks. has says whether the object has a key of that name.
func (sh *Keys) Missing(has func(name string) bool) (names []string) {
	for _, name := range sh.names {
		if !has(name) {
			names = append(names, name)
		}
	}
	return names
}

func newKeys(t reflect.Type) *Keys {
	if t.Kind() == reflect.Pointer {
		return newKeys(t.Elem())
	}
	if q := reflect.PointerTo(t); q.Implements(jsonUnmarshaler) || q.Implements(textUnmarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		return &Keys{isList: true, list: newKeys(t.Elem())}
	case reflect.Struct:
		sh := &Keys{fields: map[string]*Keys{}}
		sh.addFields(t)
		return sh
	}
	return nil
}

func (sh *Keys) addFields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			sh.addFields(f.Type)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			sh.names = append(sh.names, name)
			sh.fields[name] = newKeys(f.Type)
		}
	}
}

// field returns the shape of a key's value. Like encoding/json it does not look at the case of letters.
func (sh *Keys) field(key []byte) (of *Keys, known bool) {
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
func (sh *Keys) knows(text []byte, i int) (end int, ok bool) {
	i = afterSpace(text, i)
	switch {
	case i >= len(text):
		return i, true
	case text[i] == '{' && sh != nil && sh.fields != nil:
		return sh.knowsObject(text, i+1)
	case text[i] == '[' && sh != nil && sh.list != nil:
		return sh.list.knowsList(text, i+1)
	}
	value, _, _ := CutElement(text[i:])
	return i + len(value), true
}

func (sh *Keys) knowsObject(text []byte, i int) (end int, ok bool) {
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

func (sh *Keys) knowsList(text []byte, i int) (end int, ok bool) {
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
	for i < len(text) && strings.IndexByte(Space, text[i]) >= 0 {
		i++
	}
	return i
}

// UnknownKeys are the keys of an object that nothing is read from.
type UnknownKeys struct {
	Misspelled domain.Problems // they are like a key that is missing
	ignored    []ignoredKey    // the others
}

// ignoredKey is a key of one kind of object. The place is that of the first one.
type ignoredKey struct {
	of    *Keys
	key   string
	place string
	more  int
}

// FindUnknown looks for unknown keys in an object of a type. Keys of maps, such as protocols and attributes, are all known.
func FindUnknown(object []byte, path string, t reflect.Type) (u UnknownKeys) {
	sh := KeysOf(t)
	if _, ok := sh.knows(object, 0); ok {
		return u
	}
	var v any
	if json.Unmarshal(object, &v) == nil {
		u.addAll(path, v, sh)
	}
	return u
}

// IgnoredKeys names the unknown keys in the JSON of an object, but for misspelled ones, as an answer does; "" for none.
func IgnoredKeys[E any](object []byte) string {
	u := FindUnknown(object, "", reflect.TypeFor[E]())
	return u.Message()
}

func (u *UnknownKeys) addAll(path string, v any, sh *Keys) {
	switch v := v.(type) {
	case map[string]any:
		if !sh.IsObject() {
			return
		}
		there := map[string]bool{} // in lower case
		for key := range v {
			there[strings.ToLower(key)] = true
		}
		missing := sh.Missing(func(name string) bool { return there[strings.ToLower(name)] })
		unknown := 0
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+shortKey(key), ".")
			if of, known := sh.field([]byte(key)); known {
				u.addAll(at, v[key], of)
			} else if !strings.EqualFold(key, "apiVersion") { // which clients of EdgeX 2.0 put into each object
				if unknown++; unknown > MostCompared {
					missing = nil
				}
				u.Add(sh, key, missing, at, "")
			}
		}
	case []any:
		of, ok := sh.IsList()
		for i := 0; ok && i < len(v); i++ {
			u.addAll(fmt.Sprintf("%s[%d]", path, i), v[i], of)
		}
	}
}

// Add notes an unknown key of an object whose keys are sh and that lacks the missing ones. at is the path of the key. line is empty, or
// says in which line it is, such as " in line 7".
func (u *UnknownKeys) Add(sh *Keys, key string, missing []string, at, line string) {
	if meant := meantKey(key, missing); meant != "" {
		u.Misspelled.Add(at, "is an unknown key%s; did you mean %s?", line, meant)
		return
	}
	for i := range u.ignored {
		if k := &u.ignored[i]; k.of == sh && k.key == key {
			k.more++
			return
		}
	}
	if len(u.ignored) <= maxUnknown {
		u.ignored = append(u.ignored, ignoredKey{of: sh, key: key, place: at + line})
	}
}

// A key is taken for a misspelled one if it is at most so many edits from a known one of so many letters.
const (
	mostEdits    = 2
	leastLetters = 5
	// MostCompared is how many unknown keys of one object are compared with the keys that are missing.
	MostCompared = 20
)

// meantKey returns the key among the missing ones that an unknown key is most like, or "".
func meantKey(key string, missing []string) (best string) {
	least := mostEdits + 1
	for _, name := range missing {
		if len(name) < leastLetters || max(len(key)-len(name), len(name)-len(key)) > mostEdits {
			continue
		}
		if d := spelling.Distance(strings.ToLower(key), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// Message names the keys that were ignored, each once, "" for none.
func (u *UnknownKeys) Message() string {
	if len(u.ignored) == 0 {
		return ""
	}
	var named []string
	for _, k := range u.ignored[:min(len(u.ignored), maxUnknown)] {
		if k.more > 0 {
			k.place += fmt.Sprintf(" and %d more", k.more)
		}
		named = append(named, k.place)
	}
	if len(u.ignored) > maxUnknown {
		named = append(named, "and others")
	}
	return "ignored, because unknown: " + strings.Join(named, ", ")
}
