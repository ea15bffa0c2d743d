package deviceimport

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ledge/domain/jsonlimit"
	"ledge/handlers/yamldoc"
)

// Limits of the texts that are read.
const (
	maxDepth  = jsonlimit.Depth // of lists and objects in each other
	maxDevice = 4 << 20         // bytes, as an element of a request
)

// Bytes of memory, each of them measured for the text that takes the most.
const (
	jsonEntry   = 160 // of an entry of a list or an object, of which an object counts several
	yamlTimes   = 3   // halves of the memory of the nodes: nodes, and the values that are made of them
	tomlSign    = 448 // of a sign behind which a value, a key or a table may begin
	csvCell     = 64  // of a cell before its record is read
	csvValue    = 160 // of a cell with a value, or a label
	csvTable    = 512 // of a cell in a table of its own
	deviceTimes = 3   // of the JSON of a device: before, and while it is planned
)

// isDeeper reports whether lists and objects are in each other more than depth times.
func isDeeper(v any, depth int) bool {
	deeper := func(v any) bool { return isDeeper(v, depth-1) }
	switch v := v.(type) {
	case []any:
		return depth == 0 || slices.ContainsFunc(v, deeper)
	case map[string]any:
		for _, one := range v {
			if depth == 0 || deeper(one) {
				return true
			}
		}
	}
	return false
}

// isWider reports whether an object has more keys than are read.
func isWider(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, isWider)
	case map[string]any:
		if len(v) > yamldoc.MaxKeys {
			return true
		}
		for _, one := range v {
			if isWider(one) {
				return true
			}
		}
	}
	return false
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
