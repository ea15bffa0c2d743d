package metadata

import (
	"gopkg.in/yaml.v3"

	"ledge/domain"
)

// checkGeneration refuses a profile in the format of EdgeX 1.x, in which a resource has its type below value, and a device command has
// lists of gets and sets. Keys of 1.x that have no effect, such as coreCommands, do not make it one.
func checkGeneration(root *yaml.Node) error {
	line := 0
	for _, r := range entries(root, "deviceResources") {
		properties := below(r, "properties")
		if v := below(properties, "value"); v != nil && v.Kind == yaml.MappingNode && below(properties, "valueType") == nil {
			line = v.Line
			break
		}
	}
	for _, c := range entries(root, "deviceCommands") {
		for _, key := range []string{"get", "set"} {
			if v := below(c, key); line == 0 && v != nil && v.Kind == yaml.SequenceNode && below(c, "resourceOperations") == nil {
				line = v.Line
			}
		}
	}
	if line == 0 {
		return nil
	}
	return domain.FieldErrorf("file", "line %d: this is a profile of EdgeX 1.x: "+
		"give each resource properties such as {valueType: Int16, readWrite: R, units: C} in place of value and units, "+
		"and each device command readWrite and resourceOperations such as [{deviceResource: temperature}] in place of get and set", line)
}

// below returns the value of a key of a mapping, nil for none.
func below(n *yaml.Node, key string) (value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	eachKey(n, func(k, v *yaml.Node) {
		if k.Value == key {
			value = v
		}
	})
	if value != nil && value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	return value
}

// entries returns the entries of the list that a mapping has under a key.
func entries(n *yaml.Node, key string) []*yaml.Node {
	list := below(n, key)
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	found := make([]*yaml.Node, len(list.Content))
	for i, e := range list.Content {
		if found[i] = e; e.Kind == yaml.AliasNode {
			found[i] = e.Alias
		}
	}
	return found
}
