package entityfile

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// literal is a value without quotes, as it is written: a number, a boolean, a date.
type literal string

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// fitValue turns the literals in v into texts or JSON values, as a field of type t wants them. A nil type is that of any JSON.
func fitValue(v any, t reflect.Type) any {
	if t != nil && reflect.PointerTo(t).Implements(unmarshaler) {
		t = nil
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = fitValue(v[i], typeWithin(t, ""))
		}
	case map[string]any:
		for key := range v {
			v[key] = fitValue(v[key], typeWithin(t, key))
		}
	case literal:
		return fitLiteral(string(v), t)
	case json.Number:
		return fitLiteral(string(v), t)
	case bool:
		return fitLiteral(strconv.FormatBool(v), t)
	}
	return v
}

// typeWithin returns the type under a key of a struct, in any case, or of the entries of a list or a map. A text has its own within.
func typeWithin(t reflect.Type, key string) reflect.Type {
	switch {
	case t == nil || t.Kind() == reflect.String || t.Kind() == reflect.Interface:
		return t
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return t.Elem()
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if strings.EqualFold(nameOf(f), key) {
				return f.Type
			}
			if f.Anonymous {
				if within := typeWithin(f.Type, key); within != nil {
					return within
				}
			}
		}
	}
	return nil
}

// nameOf returns the key of a field in JSON.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func fitLiteral(text string, t reflect.Type) any {
	if lower := strings.ToLower(text); lower == "true" || lower == "false" {
		text = lower
	}
	switch {
	case t != nil && t.Kind() == reflect.String:
		return text
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	case t != nil: // such as 0x1F in YAML
		var v any
		_ = (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).Decode(&v) // if it cannot be decoded, it is a text
		switch n := v.(type) {
		case int, uint64:
			return n
		case float64:
			if !math.IsInf(n, 0) && !math.IsNaN(n) {
				return n
			}
		}
	}
	return text
}
