package metadata

import (
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/handlers/shapes"
)

var profileType = reflect.TypeFor[shapes.Profile]()

// beside are keys of a profile that are known and have no effect; a key that begins with x- is one, too, for what aliases stand for.
var beside = map[string]bool{"apiVersion": true, "created": true, "modified": true}

// checkKeys notes the keys of a node that the type t does not have, and the elements of lists that are null.
func checkKeys(p *domain.Problems, n *yaml.Node, t reflect.Type, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, e := range n.Content {
			at := fmt.Sprintf("%s[%d]", path, i)
			if e.Tag == "!!null" {
				p.Add(at, "is null in line %d; give an entry or take it out", e.Line)
				continue
			}
			checkKeys(p, e, t.Elem(), at)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		for i := 0; i+1 < len(n.Content); i += 2 {
			checkKey(p, n.Content[i], n.Content[i+1], t, path)
		}
	}
}

func checkKey(p *domain.Problems, key, value *yaml.Node, t reflect.Type, path string) {
	if key.Tag == "!!merge" {
		if value.Kind != yaml.SequenceNode {
			checkKeys(p, value, t, path)
			return
		}
		for _, from := range value.Content {
			checkKeys(p, from, t, path)
		}
		return
	}
	var names []string
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("yaml")
		if name == key.Value && name != "-" {
			checkKeys(p, value, t.Field(i).Type, path+"."+name)
			return
		}
		if name != "-" {
			names = append(names, name)
		}
	}
	if t == profileType && (beside[key.Value] || strings.HasPrefix(key.Value, "x-")) {
		return
	}
	p.Add(path, "%.80q in line %d is an unknown key; use one of %s", key.Value, key.Line, strings.Join(names, ", "))
}
