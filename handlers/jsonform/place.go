package jsonform

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"ledge/domain"
)

// embedded are the names of embedded structs in a path. They begin with a capital, and are not keys of the JSON.
var embedded = regexp.MustCompile(`\b[A-Z]\w*\.`)

// AddMistyped notes a field of a JSON text whose type is wrong.
func AddMistyped(p *domain.Problems, path string, text []byte, err *json.UnmarshalTypeError) {
	field := embedded.ReplaceAllString(err.Field, "")
	if place := placeOf(text, int(err.Offset)-1); isWithin(place, field) {
		field = place
	}
	if field != "" && field[0] != '[' {
		path += "."
	}
	p.Add(path+field, "a JSON %.80s is not possible here; give %s", err.Value, DescribeType(err.Type))
}

// isWithin reports whether a place is that of a field or below it. The field has no positions in lists and no keys of maps.
func isWithin(place, field string) bool {
	var keys strings.Builder
	for rest := place; rest != ""; {
		key, after, _ := strings.Cut(rest, "[")
		keys.WriteString(key)
		_, rest, _ = strings.Cut(after, "]")
	}
	got := keys.String()
	if len(got) < len(field) || !strings.EqualFold(got[:len(field)], field) {
		return false
	}
	return len(got) == len(field) || field == "" || got[len(field)] == '.'
}

// level is an object or a list around a place.
type level struct {
	list bool
	n    int    // the position in the list
	key  string // of the object
}

// placeOf returns the path of the value at a byte of a JSON text, such as device.autoEvents[1].interval.
func placeOf(text []byte, at int) string {
	var within []level
	isKey := false
	for i := 0; i < len(text); i++ {
		top := len(within) - 1
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			end := endOfString(text, i)
			if isKey {
				within[top].key = keyIn(text[i:min(end+1, len(text))])
			} else if end >= at {
				return pathOf(within)
			}
			i = end
		case ':':
			isKey = false
		case ',':
			if top < 0 {
				return ""
			}
			within[top].n++
			isKey = !within[top].list
		case '}', ']':
			if top < 0 {
				return ""
			}
			within, isKey = within[:top], false
		default:
			if i >= at {
				return pathOf(within)
			}
			if c == '{' || c == '[' {
				within, isKey = append(within, level{list: c == '['}), c == '{'
			}
		}
	}
	return ""
}

func keyIn(quoted []byte) (key string) {
	_ = json.Unmarshal(quoted, &key) // the text is JSON
	return shortKey(key)
}

func pathOf(within []level) string {
	var b strings.Builder
	for i, l := range within {
		switch {
		case l.list:
			b.WriteString("[" + strconv.Itoa(l.n) + "]")
		case i > 0:
			b.WriteString("." + l.key)
		default:
			b.WriteString(l.key)
		}
	}
	return b.String()
}

// DescribeType names a Go type as a writer of JSON knows it.
func DescribeType(t reflect.Type) string {
	switch k := t.Kind(); k {
	case reflect.Pointer:
		return DescribeType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	}
}
