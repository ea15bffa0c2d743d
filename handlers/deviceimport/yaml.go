package deviceimport

import (
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"

	"ledge/handlers/yamldoc"
)

func parseYAML(text []byte) (all any, err error) {
	defer func() {
		if p := recover(); p != nil { // the library may panic
			err = fmt.Errorf("%v", p)
		}
	}()
	var document yaml.Node
	if err := yamldoc.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	w := walker{values: maxValues, bytes: maxText}
	return w.value(document.Content[0], 0)
}

// walker turns nodes of a YAML document into values.
type walker struct{ values, bytes int } // what is left of the limits

var errTooMuch = errors.New("the text is too large or too deep when its aliases are resolved; leave them out, or import it in parts")

func (w *walker) value(n *yaml.Node, depth int) (any, error) {
	w.values--
	w.bytes -= len(n.Value)
	if w.values < 0 || w.bytes < 0 || depth > maxDepth {
		return nil, errTooMuch
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := []any{}
		for _, one := range n.Content {
			v, err := w.value(one, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return w.mapping(n, depth)
	}
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!int", "!!float", "!!bool", "!!timestamp":
		return literal(n.Value), nil
	default:
		return n.Value, nil
	}
}

func (w *walker) mapping(n *yaml.Node, depth int) (any, error) {
	object, merged := map[string]any{}, []map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := w.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := object[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the key %q is there twice; leave one out", key.Line, key.Value)
		}
		switch {
		case key.Kind != yaml.ScalarNode && key.Kind != yaml.AliasNode:
			return nil, fmt.Errorf("line %d: a list or an object cannot be a key", key.Line)
		case key.ShortTag() == "!!merge":
			merged = append(merged, objectsIn(v)...)
		case key.Kind == yaml.AliasNode:
			object[key.Alias.Value] = v
		default:
			object[key.Value] = v
		}
	}
	for _, from := range merged {
		for k, v := range from {
			if _, own := object[k]; !own {
				object[k] = v
			}
		}
	}
	return object, nil
}

// objectsIn returns what a merge key (<<) merges: an object, or a list of them.
func objectsIn(v any) (all []map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		for _, one := range v {
			if object, ok := one.(map[string]any); ok {
				all = append(all, object)
			}
		}
	}
	return all
}
