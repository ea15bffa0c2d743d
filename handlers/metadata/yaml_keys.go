package metadata

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/handlers/jsonform"
	v2 "ledge/handlers/shapes/v2"
)

var profileKeys = jsonform.KeysOf(reflect.TypeFor[v2.Profile]())

// keyWalk finds the keys of a profile that are unknown, and the elements of lists that are null.
type keyWalk struct {
	unknown jsonform.UnknownKeys
	nulls   domain.Problems
}

func (w *keyWalk) look(n *yaml.Node, keys *jsonform.Keys, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	of, isList := keys.IsList()
	switch {
	case n.Kind == yaml.SequenceNode && isList:
		for i, e := range n.Content {
			at := path + "[" + strconv.Itoa(i) + "]"
			if e.Tag == "!!null" {
				w.nulls.Add(at, "is null in line %d; give an entry or take it out", e.Line)
				continue
			}
			w.look(e, of, at)
		}
	case n.Kind == yaml.MappingNode && keys.IsObject():
		there := map[string]bool{}
		eachKey(n, func(key, _ *yaml.Node) { there[key.Value] = true })
		missing := keys.Missing(func(name string) bool { return there[name] })
		unknown := 0
		eachKey(n, func(key, value *yaml.Node) {
			at := strings.TrimPrefix(path+"."+cutKey(key.Value), ".")
			if of, known := keys.Exactly(key.Value); known {
				w.look(value, of, at)
			} else if keys != profileKeys || !isBeside(key.Value) {
				if unknown++; unknown > jsonform.MostCompared {
					missing = nil
				}
				w.unknown.Add(keys, key.Value, missing, at, fmt.Sprintf(" in line %d", key.Line))
			}
		})
	}
}

// isBeside reports whether a key of a profile has no effect, and is meant to have none: aliases stand for what is under x-.
func isBeside(key string) bool { return key == "apiVersion" || strings.HasPrefix(key, "x-") }

func cutKey(key string) string { return fmt.Sprintf("%.80s", key) }

// eachKey calls each with the keys of a mapping and their values, and with those of the mappings that are merged into it.
func eachKey(n *yaml.Node, each func(key, value *yaml.Node)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag != "!!merge" {
			each(key, value)
			continue
		}
		merged := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			merged = value.Content
		}
		for _, from := range merged {
			if from.Kind == yaml.AliasNode {
				from = from.Alias
			}
			if from.Kind == yaml.MappingNode {
				eachKey(from, each)
			}
		}
	}
}
