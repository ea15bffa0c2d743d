package entityfile

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"ledge/domain/jsonlimit"
	"ledge/handlers/yamldoc"
)

// Limits of the texts that are read.
const (
	maxDepth  = jsonlimit.Depth // of lists and objects in each other
	maxEntity = 4 << 20         // bytes, as an element of a request
	// leastExpanded is the length in bytes of a text whose aliases may make as much of it as those of any shorter text.
	leastExpanded = 1 << 20
)

// Bytes of memory, each of them measured for the text that takes the most.
const (
	jsonEntry   = 160 // of an entry of a list or an object, of which an object counts several
	yamlTimes   = 3   // halves of the memory of the nodes: nodes, and the values that are made of them
	tomlSign    = 448 // of a sign behind which a value, a key or a table may begin
	csvCell     = 64  // of a cell before its record is read
	csvValue    = 160 // of a cell with a value, or a label
	csvTable    = 512 // of a cell in a table of its own
	entityTimes = 3   // of the JSON of an entity: before, and while it is planned
)

// isBeyond reports whether lists and objects are in each other more than depth times, and whether an object has more keys than are read.
// It looks at the keys of all depths.
func isBeyond(v any, depth int) (deep, wide bool) {
	look := func(one any) {
		d, w := isBeyond(one, depth-1)
		deep, wide = deep || d, wide || w
	}
	switch v := v.(type) {
	case []any:
		deep = depth <= 0
		for _, one := range v {
			look(one)
		}
	case map[string]any:
		deep, wide = depth <= 0, len(v) > yamldoc.MaxKeys
		for _, one := range v {
			look(one)
		}
	}
	return deep, wide
}

// lengthOf returns how long a value is as JSON at most, in bytes: a character of a text may become six.
func lengthOf(v any) (n int64) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			n += lengthOf(one) + 1
		}
	case map[string]any:
		for key, one := range v {
			n += lengthOf(key) + lengthOf(one) + 2
		}
	case literal:
		return lengthOf(string(v))
	case json.Number:
		return lengthOf(string(v))
	case bool:
		return int64(len(`"false"`))
	case string:
		n += int64(len(v))
		for _, c := range v {
			if c < ' ' || c == utf8.RuneError || strings.ContainsRune("<>&\"\\\u2028\u2029", c) {
				n += 5 // escaped
			}
		}
	}
	return n + 4
}
