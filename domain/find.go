package domain

import (
	"reflect"
	"strings"
)

// idKey is the key in State.IDs: the hexadecimal digits of a UUID mean the same in either case.
func idKey(kind, id string) string { return kind + "/" + strings.ToLower(id) }

// has returns the test whether a table has a key.
func has[T any](t Table[T]) func(string) bool {
	return func(key string) bool { _, ok := t.Get(key); return ok }
}

// checkFree refuses a name or an id that an entity of that kind has already.
func checkFree(s State, kind, name, id string, taken func(string) bool) error {
	if taken(name) {
		return Errorf(Conflict, "%s name %q exists already; choose another name or change the one that is there", kind, name).At("name")
	}
	if owner, ok := s.IDs.Get(idKey(kind, id)); ok {
		return Errorf(Conflict, "%s id %q exists already, for %q; leave the id out to get a new one", kind, id, owner).At("id")
	}
	return nil
}

// checkReferences refuses an entity of that kind whose device service or device profile is not there.
func checkReferences(s State, kind, name, service, profile string) error {
	if _, ok := s.Services.Get(service); !ok {
		return Errorf(NotFound, "%s %q: device service %q does not exist; add it first or correct serviceName", kind, name, service).At("serviceName")
	}
	if _, ok := s.Profiles.Get(profile); !ok {
		return Errorf(NotFound, "%s %q: device profile %q does not exist; upload it first or correct profileName", kind, name, profile).At("profileName")
	}
	return nil
}

// checkUnused refuses a change of the profile or service called name while devices or provision watchers rest on it.
func checkUnused(s State, kind, name string) error {
	if n, _ := s.Uses.Get(kind + "/" + name); n > 0 {
		// EdgeX 2.3 answers 409 here.
		return Errorf(Conflict, "%s %q is in use (devices and provision watchers: %d); remove them or give them another %s first", kind, name, n, kind)
	}
	return nil
}

// find returns the entity that id or name, or both, mean.
func find[T any](s State, kind string, id, name *string, t Table[T]) (T, error) {
	var none T
	key, err := keyOf(s, kind, id, name)
	if err != nil {
		return none, err
	}
	v, ok := t.Get(key)
	if !ok {
		return none, Errorf(NotFound, "%s %q does not exist; add it first or correct the name", kind, key)
	}
	return v, nil
}

// keyOf returns the name of the entity that id or name, or both, mean.
func keyOf(s State, kind string, id, name *string) (key string, err error) {
	if id != nil && *id != "" {
		owner, ok := s.IDs.Get(idKey(kind, *id))
		if !ok {
			return "", Errorf(NotFound, "%s id %q does not exist; correct the id", kind, *id)
		}
		key = owner
	}
	if name != nil && *name != "" {
		if key != "" && key != *name {
			// EdgeX 2.3 answers 400 here.
			return "", Errorf(Invalid, "%s id %q belongs to %q, not to %q; give only one of id and name, or both of one %s", kind, *id, key, *name, kind)
		}
		key = *name
	}
	return key, nil
}

// checkTarget notes what is wrong with the id and name by which a patch says what it is for.
func (p *Problems) checkTarget(id, name *string) {
	if id == nil && name == nil {
		p.Add("name", "is missing, and so is id; give one of them")
	}
	optional(p, "id", id, func(p *Problems, path, v string) {
		if name == nil { // EdgeX 2.3 takes an empty id beside a name for none
			p.checkText(path, v)
		}
		if v != "" && !IsUUID(v) {
			p.Add(path, "%s is no UUID; give the id that it has, or only the name", quote(v))
		}
	})
	optional(p, "name", name, (*Problems).checkName)
}

// optional runs check where value is given.
func optional(p *Problems, path string, value *string, check func(*Problems, string, string)) {
	if value != nil {
		check(p, path, *value)
	}
}

// set overwrites a field where a patch has a value for it.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
