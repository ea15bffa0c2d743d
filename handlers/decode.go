package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"ledge/domain"
)

// decodeBatch hands each element of a JSON array to each, with the first field that has a wrong type, if any. Elements
// are decoded one by one, so that memory is bounded by most and not by what a short text can ask for. As in EdgeX 2.3,
// null is an empty array, a null element is an empty object, and what follows the array is not looked at.
func decodeBatch[E any](data []byte, most int, each func(i int, e *E, mistyped *json.UnmarshalTypeError)) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return malformed(data, err)
	}
	if start == nil {
		return nil
	}
	if start != json.Delim('[') {
		return domain.Errorf(domain.Invalid, "the body is %s; send an array of objects: [{…}]", kindOf(start))
	}
	for i := 0; dec.More(); i++ {
		if i == most {
			return domain.Errorf(domain.TooLarge, "the array has more than %d elements, which is the limit; send several requests", most)
		}
		e := new(E)
		err := dec.Decode(e)
		mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if err != nil && !ok {
			return malformed(data, err)
		}
		each(i, e, mistyped)
	}
	if _, err := dec.Token(); err != nil {
		return malformed(data, err)
	}
	return nil
}

func kindOf(t json.Token) string {
	switch t.(type) {
	case json.Delim:
		return "an object"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

// malformed says where data stops being JSON. The decoder that found the fault counts from the start of an element.
func malformed(data []byte, err error) error {
	if errors.Is(err, io.EOF) && len(bytes.TrimSpace(data)) == 0 {
		return domain.Errorf(domain.Invalid, "the body is empty; send an array of objects: [{…}]")
	}
	offset := len(data)
	var any json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &any)); ok {
		err = syntax
		if syntax.Error() != "unexpected end of JSON input" { // else the fault is after the last byte
			offset = max(0, int(syntax.Offset)-1)
		}
	}
	before := data[:min(offset, len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return domain.Errorf(domain.Invalid, "the body is no JSON: %v at line %d, column %d (byte %d); send an array of objects: [{…}]", err, line, column, offset)
}

// addMistyped notes a field whose JSON type is wrong.
func addMistyped(p *domain.Problems, path string, err *json.UnmarshalTypeError) {
	if field := strings.TrimPrefix(err.Field, "Head."); field != "" { // Head is embedded: no key of the JSON
		path += "." + field
	}
	p.Add(path, "a JSON %.80s is not possible here; give %s", err.Value, wanted(err.Type))
}

// wanted names a Go type as a writer of JSON knows it.
func wanted(t reflect.Type) string {
	switch k := t.Kind(); k {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	}
}
