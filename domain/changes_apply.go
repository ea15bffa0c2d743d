package domain

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"

	"ledge/domain/fastjson"
)

// applied returns the entity after the changes, or, backwards, before them. It shares with the entity what is the same.
func applied[T any](c Changes, entity T, backwards bool) T {
	v := reflect.ValueOf(&entity).Elem()
	applyIn(v, c, backwards)
	return entity
}

// apply changes v, a settable copy whose maps and lists are still shared. What does not fit, such as an index beyond the end
// of a list, is left out: it cannot be where the change was decided on this very state.
func apply(v reflect.Value, c Difference, backwards bool) {
	was, is := c.Was, c.Is
	if backwards {
		was, is = is, was
	}
	switch {
	case c.In != nil:
		applyIn(v, c.In, backwards)
	case c.At != nil:
		splice(v, *c.At, was, is)
	default:
		v.Set(valueOf(v.Type(), is))
	}
}

// valueOf decodes a text, which was checked; the zero value where there is none.
func valueOf(t reflect.Type, text json.RawMessage) reflect.Value {
	v := reflect.New(t)
	if len(text) > 0 {
		_ = fastjson.Unmarshal(text, v.Interface())
	}
	return v.Elem()
}

func applyIn(v reflect.Value, in Changes, backwards bool) {
	switch v.Kind() {
	case reflect.Struct:
		for name, c := range in {
			if f, ok := fieldOf(v.Type(), name); ok {
				apply(v.FieldByIndex(f.Index), c, backwards)
			}
		}
	case reflect.Map:
		v.Set(cloneMap(v))
		for key, c := range in {
			applyKey(v, reflect.ValueOf(key), c, backwards)
		}
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for key, c := range in {
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < list.Len() {
				apply(list.Index(i), c, backwards)
			}
		}
		v.Set(list)
	}
}

func cloneMap(v reflect.Value) reflect.Value {
	m := reflect.MakeMapWithSize(v.Type(), v.Len())
	for it := v.MapRange(); it.Next(); {
		m.SetMapIndex(it.Key(), it.Value())
	}
	return m
}

// applyKey changes the value at one key, adds it or takes it away.
func applyKey(m, key reflect.Value, c Difference, backwards bool) {
	gone := c.Is
	if backwards {
		gone = c.Was
	}
	if c.In == nil && c.At == nil && len(gone) == 0 {
		m.SetMapIndex(key, reflect.Value{})
		return
	}
	value := reflect.New(m.Type().Elem()).Elem()
	if old := m.MapIndex(key); old.IsValid() {
		value.Set(old)
	}
	apply(value, c, backwards)
	m.SetMapIndex(key, value)
}

// splice puts the elements of is where those of was are in a list.
func splice(v reflect.Value, at int, was, is json.RawMessage) {
	out, in := valueOf(v.Type(), was), valueOf(v.Type(), is)
	at = min(at, v.Len())
	end := min(at+out.Len(), v.Len())
	list := reflect.MakeSlice(v.Type(), 0, v.Len()-(end-at)+in.Len())
	for _, part := range []reflect.Value{v.Slice(0, at), in, v.Slice(end, v.Len())} {
		list = reflect.AppendSlice(list, part)
	}
	v.Set(list)
}

// Merge returns the difference between the entity before the earlier changes and after the later ones. T is the type
// of the entity. ok is false if both change parts of a list, and one of them its length: neither has the other values of the list.
func Merge[T any](earlier, later Changes) (merged Changes, ok bool) {
	return mergeIn(reflect.TypeFor[T](), earlier, later)
}

// mergeIn merges the changes of the members of a value of a type.
func mergeIn(t reflect.Type, earlier, later Changes) (merged Changes, ok bool) {
	merged = maps.Clone(earlier)
	for key, b := range later {
		a, both := earlier[key]
		if !both {
			merged[key] = b
			continue
		}
		member, err := memberType(t, key)
		if err != nil {
			return nil, false
		}
		c, differs, ok := mergeValue(member, a, b, t.Kind() == reflect.Map)
		switch {
		case !ok:
			return nil, false
		case differs:
			merged[key] = c
		default:
			delete(merged, key)
		}
	}
	return merged, true
}

// mergeValue merges the changes of a value of a type, which may be the member of a map.
func mergeValue(t reflect.Type, a, b Difference, inMap bool) (c Difference, differs, ok bool) {
	wholeA, wholeB := a.In == nil && a.At == nil, b.In == nil && b.At == nil
	switch {
	case wholeA || wholeB:
		return mergeWhole(t, a, b, inMap)
	case a.In != nil && b.In != nil:
		c.In, ok = mergeIn(t, a.In, b.In)
		return c, len(c.In) > 0, ok
	}
	return c, false, false
}

// mergeWhole merges changes of which one has the whole value, so that the other can be applied to it.
func mergeWhole(t reflect.Type, a, b Difference, inMap bool) (c Difference, differs, ok bool) {
	was, is := valueOf(t, a.Was), valueOf(t, b.Is)
	hadOne, hasOne := len(a.Was) > 0, len(b.Is) > 0
	if a.In != nil || a.At != nil {
		was, hadOne = valueOf(t, b.Was), true
		apply(was, a, true)
	}
	if b.In != nil || b.At != nil {
		is, hasOne = valueOf(t, a.Is), true
		apply(is, b, false)
	}
	if inMap && !hadOne && !hasOne {
		return c, false, true
	}
	c, differs, err := diff(was, is)
	if inMap && (hadOne != hasOne || differs && c.In == nil && c.At == nil) { // an empty value is there, unlike none
		c, differs = Difference{}, true
		if hadOne {
			c.Was, err = memberText(was)
		}
		if hasOne && err == nil {
			c.Is, err = memberText(is)
		}
	}
	return c, differs, err == nil
}
