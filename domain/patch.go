package domain

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"reflect"
)

// Patch changes the fields of an entity that it has, and leaves the others alone. A map or a list replaces the one that is there. A request
// has a field if its JSON object has a member of that name that is not null.
type Patch[T any] struct {
	// Is has the new values of the fields that the patch has. The others are zero.
	Is     *T
	has    uint64 // by the index of the field
	layout *layout
}

// layout has the places of the fields of a struct, 64 at most.
type layout struct {
	fields   []reflect.StructField
	names    []string       // in JSON, by index
	byName   map[string]int // the index of a field, by its name in JSON
	byGoName map[string]int
	key      uint64 // the fields id and name, which name the entity of a patch and do not change
}

// layouts has the layouts of the entities that can be patched.
var layouts = func() map[reflect.Type]*layout {
	all := map[reflect.Type]*layout{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[Device](), reflect.TypeFor[DeviceService](), reflect.TypeFor[ProvisionWatcher](), reflect.TypeFor[Profile](),
		reflect.TypeFor[Subscription](),
	} {
		all[t] = newLayout(t)
	}
	return all
}()

func newLayout(t reflect.Type) *layout {
	l := &layout{fields: reflect.VisibleFields(t), byName: map[string]int{}, byGoName: map[string]int{}}
	for i, f := range l.fields {
		name := jsonName(f)
		l.names, l.byName[name], l.byGoName[f.Name] = append(l.names, name), i, i
		if name == "id" || name == "name" {
			l.key |= 1 << i
		}
	}
	return l
}

// indexOf returns the index of the field that is called name in JSON. It panics if there is none.
func (l *layout) indexOf(name string) int {
	i, ok := l.byName[name]
	if !ok {
		panic(fmt.Sprintf("domain: there is no field %q among %q", name, l.names))
	}
	return i
}

// PatchForm is the JSON of the patches of an S.
type PatchForm[S any] struct {
	layout *layout
	typ    reflect.Type
	places []int // the indexes of its fields in S
}

// PatchFormOf returns the form of the patches of an S. They do not have the fields with the tag patch:"-".
func PatchFormOf[S any]() PatchForm[S] {
	f := PatchForm[S]{layout: newLayout(reflect.TypeFor[S]())}
	var members []reflect.StructField
	for i, field := range f.layout.fields {
		if field.Tag.Get("patch") == "-" {
			continue
		}
		member := reflect.StructField{Name: field.Name, Type: field.Type, Tag: reflect.StructTag(fmt.Sprintf("json:%q", f.layout.names[i]))}
		if k := field.Type.Kind(); k != reflect.Slice && k != reflect.Map {
			member.Type = reflect.PointerTo(field.Type)
		}
		members, f.places = append(members, member), append(f.places, i)
	}
	f.typ = reflect.StructOf(members)
	return f
}

// Type returns the struct that a patch is decoded into. A field that is a list or a map stays one, any other is a pointer: nil means that
// the patch does not have it.
func (f PatchForm[S]) Type() reflect.Type { return f.typ }

// Read returns the patch that was decoded into v, which is of the form's type.
func (f PatchForm[S]) Read(v reflect.Value) Patch[S] {
	p := Patch[S]{Is: new(S), layout: f.layout}
	is := reflect.ValueOf(p.Is).Elem()
	for n, i := range f.places {
		member := v.Field(n)
		if member.IsNil() {
			continue
		}
		if member.Kind() == reflect.Pointer {
			member = member.Elem()
		}
		is.Field(i).Set(member)
		p.has |= 1 << i
	}
	return p
}

// PatchOf returns a patch of an entity with fields: the name in JSON and the value of each. It panics if T has no such field.
func PatchOf[T any](fields ...any) Patch[T] {
	p := Patch[T]{Is: new(T), layout: layouts[reflect.TypeFor[T]()]}
	is := reflect.ValueOf(p.Is).Elem()
	for n := 0; n < len(fields); n += 2 {
		i := p.layout.indexOf(fields[n].(string))
		is.Field(i).Set(reflect.ValueOf(fields[n+1]).Convert(p.layout.fields[i].Type))
		p.has |= 1 << i
	}
	return p
}

// PatchAs returns the patch of a shape as a patch of the entity that as makes of the shape. The fields of both have the same names in Go.
func PatchAs[T, S any](p Patch[S], as func(S) T) Patch[T] {
	is := as(*p.Is)
	q := Patch[T]{Is: &is, layout: layouts[reflect.TypeFor[T]()]}
	for has := p.has; has != 0; has &= has - 1 {
		q.has |= 1 << q.layout.byGoName[p.layout.fields[bits.TrailingZeros64(has)].Name]
	}
	return q
}

// Has reports whether the patch has the field that is called name in JSON.
func (p Patch[T]) Has(name string) bool { return p.has != 0 && p.has>>p.layout.indexOf(name)&1 == 1 }

// idAndName returns the id and the name of the entity that the patch is for, nil if it does not have them.
func (p Patch[T]) idAndName() (id, name *string) {
	text := func(field string) *string {
		if !p.Has(field) {
			return nil
		}
		return reflect.ValueOf(p.Is).Elem().Field(p.layout.indexOf(field)).Addr().Interface().(*string)
	}
	return text("id"), text("name")
}

var anyValue = reflect.TypeFor[json.RawMessage]()

// Apply returns d with the patch's fields. Its id and its name stay.
func (p Patch[T]) Apply(d T) T {
	if p.has == 0 {
		return d
	}
	is, to := reflect.ValueOf(p.Is).Elem(), reflect.ValueOf(&d).Elem()
	for has := p.has &^ p.layout.key; has != 0; has &= has - 1 {
		i := bits.TrailingZeros64(has)
		value, field := is.Field(i), to.Field(i)
		if value.Type() != anyValue {
			field.Set(value)
		} else if text := normalize(value.Bytes()); text != nil && !equalJSON(text, field.Bytes()) {
			field.SetBytes(text)
		}
	}
	return d
}

// Check notes the problems of the patch before its entity is known.
func (p Patch[T]) Check() Problems {
	c := checking{has: p.Has}
	id, name := p.idAndName()
	c.checkTarget(id, name)
	if d, ok := any(p.Is).(ruled); ok && p.has != 0 {
		d.checkFields(&c)
	}
	return c.Problems
}

// patchEntity returns the entity in t that a patch is for, before and after it.
func patchEntity[T any](s State, kind string, p Patch[T], t Table[T]) (before, after T, err error) {
	if err := p.Check().Err(); err != nil {
		return before, after, err
	}
	id, name := p.idAndName()
	if before, err = find(s, kind, id, name, t); err != nil {
		return before, after, err
	}
	return before, p.Apply(before), nil
}
