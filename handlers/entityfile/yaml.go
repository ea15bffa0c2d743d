package entityfile

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"ledge/handlers/yamldoc"
)

// parseYAML reads YAML. Its aliases may make as much of it as of a text of most bytes.
func parseYAML(text []byte, most int64, hold Hold) (all any, err error) {
	root, err := yamldoc.Parse(text, most, func(n int64) error { return hold(n * yamlTimes / 2) })
	if err != nil || root == nil {
		return nil, err
	}
	return valueOf(root)
}

// valueOf turns a node of a YAML document into a value.
func valueOf(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return valueOf(n.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, one := range n.Content {
			v, err := valueOf(one)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return objectOf(n)
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

func objectOf(n *yaml.Node) (any, error) {
	object, merged := map[string]any{}, []map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := valueOf(n.Content[i+1])
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
