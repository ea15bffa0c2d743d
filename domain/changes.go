package domain

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"

	"ledge/domain/fastjson"
)

// Changes are what differs between two states of an entity: by the JSON names of its fields, by the keys of a map, or by the
// indexes of a list.
type Changes map[string]Difference

// Difference is what became of one value, in one of three forms:
//
//   - {"was":…,"is":…}: the value before and after. What is missing was empty, or, in a map, was not there.
//   - {"at":n,"was":[…],"is":[…]}: in a list, the elements from n on that were replaced, and what stands there now.
//   - {"in":{…}}: only members of the value differ.
//
// So a change can be applied to the state before, and taken back from the state after.
type Difference struct {
	At  *int            `json:"at,omitempty"`
	Was json.RawMessage `json:"was,omitempty"`
	Is  json.RawMessage `json:"is,omitempty"`
	In  Changes         `json:"in,omitzero"`
}

// Diff returns what differs between two states of an entity, nil for nothing. An empty list or map is the same as none.
func Diff[T any](before, after T) (Changes, error) {
	c, differs, err := diff(reflect.ValueOf(before), reflect.ValueOf(after))
	if !differs || err != nil {
		return nil, err
	}
	return c.In, nil
}

// mostMembers is how many elements of a list are changed one by one; of more, all that are between are replaced.
const mostMembers = 16

func diff(a, b reflect.Value) (c Difference, differs bool, err error) {
	if isEmpty(a) && isEmpty(b) || equal(a, b) {
		return c, false, nil
	}
	switch {
	case a.Kind() == reflect.Struct:
		c.In, err = diffFields(a, b)
		return c, len(c.In) > 0, err
	case isEmpty(a) || isEmpty(b) || a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Uint8:
		return leaf(a, b)
	case a.Kind() == reflect.Map:
		c.In, err = diffKeys(a, b)
		return c, len(c.In) > 0, err
	case a.Kind() == reflect.Slice:
		c, err = diffList(a, b)
		return c, c.At != nil || len(c.In) > 0, err
	}
	return leaf(a, b)
}

func leaf(a, b reflect.Value) (c Difference, differs bool, err error) {
	if c.Was, err = textOf(a); err == nil {
		c.Is, err = textOf(b)
	}
	return c, true, err
}

// textOf is the JSON of a value, nil for the zero value.
func textOf(v reflect.Value) (json.RawMessage, error) {
	if v.IsZero() {
		return nil, nil
	}
	return json.Marshal(v.Interface())
}

func diffFields(a, b reflect.Value) (Changes, error) {
	in := Changes{}
	for i := range a.NumField() {
		c, differs, err := diff(a.Field(i), b.Field(i))
		if err != nil {
			return nil, err
		}
		if differs {
			in[jsonName(a.Type().Field(i))] = c
		}
	}
	return in, nil
}

func (in Changes) add(key string, a, b reflect.Value) error {
	c, differs, err := diff(a, b)
	if differs {
		in[key] = c
	}
	return err
}

func diffKeys(a, b reflect.Value) (Changes, error) {
	in := Changes{}
	for _, key := range append(a.MapKeys(), b.MapKeys()...) {
		was, is := a.MapIndex(key), b.MapIndex(key)
		var c Difference
		differs, err := true, error(nil)
		if was.IsValid() && is.IsValid() {
			c, differs, err = diff(was, is)
		}
		if err == nil && differs && c.In == nil && c.At == nil { // an empty value is there, unlike none
			if c.Was, err = memberText(was); err == nil {
				c.Is, err = memberText(is)
			}
		}
		if err != nil {
			return nil, err
		}
		if differs {
			in[key.String()] = c
		}
	}
	return in, nil
}

// memberText is the JSON of the value at a key, nil where there is none.
func memberText(v reflect.Value) (json.RawMessage, error) {
	if !v.IsValid() {
		return nil, nil
	}
	return json.Marshal(v.Interface())
}

// diffList leaves out what both lists begin and end with.
func diffList(a, b reflect.Value) (c Difference, err error) {
	from, toA, toB := 0, a.Len(), b.Len()
	for from < min(toA, toB) && equal(a.Index(from), b.Index(from)) {
		from++
	}
	for toA > from && toB > from && equal(a.Index(toA-1), b.Index(toB-1)) {
		toA, toB = toA-1, toB-1
	}
	if toA == toB {
		if c.In, err = diffElements(a, b, from, toA); c.In != nil || err != nil {
			return c, err
		}
	}
	c.At = &from
	if c.Was, err = elements(a.Slice(from, toA)); err == nil {
		c.Is, err = elements(b.Slice(from, toB))
	}
	return c, err
}

// diffElements compares the elements of two lists one by one; nil where more than mostMembers differ.
func diffElements(a, b reflect.Value, from, to int) (Changes, error) {
	in := Changes{}
	for i := from; i < to; i++ {
		if err := in.add(strconv.Itoa(i), a.Index(i), b.Index(i)); err != nil || len(in) > mostMembers {
			return nil, err
		}
	}
	return in, nil
}

func elements(list reflect.Value) (json.RawMessage, error) {
	if list.Len() == 0 {
		return nil, nil
	}
	return json.Marshal(list.Interface())
}

// Names are the fields that differ, sorted.
func (in Changes) Names() []string {
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Leaf is one value that differs: its path, such as protocols.other.Address, and its JSON before and after, nil for none. Of elements
// that were replaced in a list, the path has the index of the first, such as labels[2].
type Leaf struct {
	Path    string
	Was, Is json.RawMessage
}

// Leaves yields each value that differs, sorted by its path.
func (in Changes) Leaves() iter.Seq[Leaf] {
	return func(yield func(Leaf) bool) { in.leaves("", yield) }
}

func (in Changes) leaves(path string, yield func(Leaf) bool) (more bool) {
	for _, name := range in.Names() {
		d, at := in[name], path+name
		switch {
		case d.In != nil:
			more = d.In.leaves(at+".", yield)
		case d.At != nil:
			more = yield(Leaf{fmt.Sprintf("%s[%d]", at, *d.At), d.Was, d.Is})
		default:
			more = yield(Leaf{at, d.Was, d.Is})
		}
		if !more {
			return false
		}
	}
	return true
}

// check refuses changes that cannot be those of a value of a type. Then [apply] never fails.
func (in Changes) check(t reflect.Type) error {
	for key, change := range in {
		member, err := memberType(t, key)
		if err == nil {
			err = change.check(member)
		}
		if err != nil {
			return fmt.Errorf("%.80s: %w", key, err)
		}
	}
	return nil
}

// memberType is the type of the member of a struct, map or list that a key names.
func memberType(t reflect.Type, key string) (reflect.Type, error) {
	switch t.Kind() {
	case reflect.Struct:
		if f, ok := fieldOf(t, key); ok {
			return f.Type, nil
		}
		return nil, unknown("field", key)
	case reflect.Map:
		return t.Elem(), nil
	case reflect.Slice:
		if i, err := strconv.Atoi(key); err != nil || i < 0 {
			return nil, fmt.Errorf("no index of a list")
		}
		return t.Elem(), nil
	}
	return nil, fmt.Errorf("a value of type %s has no members", t)
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); jsonName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func (c Difference) check(t reflect.Type) error {
	if c.In != nil {
		return c.In.check(t)
	}
	if c.At != nil && (t.Kind() != reflect.Slice || *c.At < 0) {
		return fmt.Errorf("at %d: no place in a list", *c.At)
	}
	for _, text := range []json.RawMessage{c.Was, c.Is} {
		if len(text) > 0 {
			if err := known(fastjson.UnmarshalKnown(text, reflect.New(t).Interface())); err != nil {
				return err
			}
		}
	}
	return nil
}
