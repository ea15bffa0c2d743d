package jsonform

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ledge/domain"
)

// FindNulls notes each null that stands for an element of a list in a JSON object of type t. Where t has any JSON, null is a value.
func FindNulls(object []byte, path string, t reflect.Type) (p domain.Problems) {
	if !mayHaveNulls(object) {
		return nil
	}
	var v any
	if json.Unmarshal(object, &v) == nil {
		addNulls(&p, path, v, t)
	}
	return p
}

// mayHaveNulls reports whether a null may stand in a list: then it is behind a bracket or a comma. In an object it is behind a colon.
func mayHaveNulls(text []byte) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte("null"))
		if i < 0 {
			return false
		}
		before := bytes.TrimRight(text[:from+i], Space)
		if bytes.HasSuffix(before, []byte("[")) || bytes.HasSuffix(before, []byte(",")) {
			return true
		}
		from += i + len("null")
	}
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func addNulls(p *domain.Problems, path string, v any, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if q := reflect.PointerTo(t); q.Implements(jsonUnmarshaler) || q.Implements(textUnmarshaler) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		addNullsOfObject(p, path, v, t)
	case []any:
		if t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Interface {
			return
		}
		for i, e := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			if e == nil {
				p.Add(at, "is null; give an entry or leave it out")
				continue
			}
			addNulls(p, at, e, t.Elem())
		}
	}
}

func addNullsOfObject(p *domain.Problems, path string, v map[string]any, t reflect.Type) {
	switch t.Kind() {
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			addNulls(p, path+"."+shortKey(key), v[key], t.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous {
				addNullsOfObject(p, path, v, f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			for key, e := range v {
				if strings.EqualFold(key, name) {
					addNulls(p, strings.TrimPrefix(path+"."+name, "."), e, f.Type)
				}
			}
		}
	}
}
