package metadata

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	v2 "ledge/handlers/shapes/v2"
	"ledge/handlers/yamldoc"
)

// decodeProfile reads a profile as EdgeX users write it: numbers and booleans stand where text is meant, anchors, aliases and merge keys
// are followed. most bounds the text, in bytes. hold takes memory, in bytes, for the nodes of the text before they are there. ignored is a
// message that names the keys that are unknown.
func decodeProfile(file []byte, most int64, hold func(bytes int64) error) (d v2.Profile, ignored string, err error) {
	defer func() {
		if p := recover(); p != nil { // the library promises none
			err = domain.FieldErrorf("file", "is no YAML: %v", p)
		}
	}()
	root, err := yamldoc.Parse(file, most, func(n int64) error { return tooMany(hold(n)) })
	if err == nil && root != nil {
		err = checkNumbers(root)
	}
	if err != nil {
		return d, "", yamlError(err)
	}
	if root == nil {
		return d, "", domain.FieldErrorf("file", "is empty; give a device profile with at least a name")
	}
	if root.Kind == yaml.AliasNode || root.Kind != yaml.MappingNode {
		return d, "", domain.FieldErrorf("file", `line %d: is not a mapping; give a device profile such as "name: camera"`, root.Line)
	}
	if err := checkGeneration(root); err != nil {
		return d, "", err
	}
	var w keyWalk
	w.look(root, profileKeys, "")
	var p domain.Problems
	p.In("file", w.nulls)
	p.In("file", w.unknown.Misspelled)
	if err := p.Err(); err != nil {
		return d, "", err
	}
	if err := root.Decode(&d); err != nil {
		return d, "", yamlError(err)
	}
	for _, r := range d.DeviceResources {
		for k, v := range r.Attributes {
			r.Attributes[k] = jsonValue(v)
		}
	}
	return d, w.unknown.Message(), nil
}

// tooMany says what to do with a file for which there is no memory, now or ever.
func tooMany(err error) error {
	if domain.CodeOf(err) != domain.TooLarge {
		return err
	}
	return domain.Errorf(domain.TooLarge,
		"its keys, values, lists and mappings take more memory than a request may have; split the profile into several")
}

// yamlError says that an error is one of the file. It leaves out what the library says of Go types.
func yamlError(err error) error {
	if e, ok := errors.AsType[*domain.Error](err); ok {
		if e.Code == domain.Unavailable {
			return err
		}
		return domain.Errorf(e.Code, "file: %s", e.Message)
	}
	if second, ok := errors.AsType[*yamldoc.SecondError](err); ok {
		return domain.FieldErrorf("file", "line %d: a second document begins; upload each profile as a file of its own", second.Line)
	}
	faults := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		faults = e.Errors
	}
	var p domain.Problems
	for _, f := range faults {
		what, into, typed := strings.Cut(f, " into ")
		if typed {
			what = strings.Replace(what, "cannot unmarshal", "found", 1) + ", want " + wantedYAML(into)
		}
		p.Add("file", "%.300s; correct the file", what)
	}
	return p.Err()
}

func wantedYAML(goType string) string {
	switch {
	case goType == "string", goType == "bool":
		return goType
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	default:
		return "a mapping"
	}
}

// jsonValue makes of a decoded YAML value one that JSON can say.
func jsonValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = jsonValue(e)
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[fmt.Sprint(k)] = jsonValue(e)
		}
		return m
	case []any:
		for i, e := range v {
			v[i] = jsonValue(e)
		}
	}
	return v
}
