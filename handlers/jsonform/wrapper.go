package jsonform

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ledge/domain"
)

// Shorten returns a text with at most so many bytes, and an ellipsis if there are more.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// maxUnknown is how many unknown keys of one object a message names.
const maxUnknown = 8

// FindMisnamed notes what an object that lacks its entity has in place of it. It notes nothing where the entity is there.
func FindMisnamed(object []byte, entity string) (p domain.Problems) {
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

func shortKey(key string) string { return Shorten(key, 80) }

// WrapperOf returns the key under which a request has its entity, with the index of the field; empty where it has several or none.
func WrapperOf(t reflect.Type) (key string, index int) {
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

// CheckWrapper refuses an object whose entity, which belongs under key, is missing while it has keys that are unknown.
func CheckWrapper(entity reflect.Value, key string, object []byte) error {
	if !entity.IsZero() {
		return nil
	}
	return FindMisnamed(object, key).Err()
}
