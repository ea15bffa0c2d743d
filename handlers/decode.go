package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"ledge/domain"
)

const (
	// entryBytes is what an entry of a list or an object counts in memory while its request is served. Decoded it takes far more than
	// its text.
	entryBytes = 96
	// profileElement is the longest text of an element that is a profile, in bytes: the longest profile as an answer has it, and some
	// white space.
	profileElement = 10 << 20
)

// ForProfiles returns the API for routes that take whole profiles, which may be longer than other entities.
func (a *API) ForProfiles() *API {
	api := *a
	api.BodyBytes, api.ElementBytes = 2*a.BodyBytes, profileElement
	return &api
}

const sendAnArray = "send an array of objects: [{…}]"

// decodeBatch hands each element of a JSON array to each, with the first field that has a wrong type, if any. Elements
// are decoded one by one, each of at most ElementBytes and the limits of domain/jsonlimit; before that, hold is asked for the memory of
// an element's entries. An element that is too large is not decoded: refuse gets its head and the reason. As in EdgeX 2.3, what follows the
// array is not looked at, and null is an array without elements.
func decodeBatch(
	a *API, decode func(element []byte) error, data []byte, hold func(entries int) error,
	each func(i int, element []byte, mistyped *json.UnmarshalTypeError), refuse func(i int, h Head, err error),
) error {
	if bytes.HasPrefix(bytes.TrimLeft(data, jsonSpace), []byte("null")) {
		return nil
	}
	rest, err := enterArray(data)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		element, after, entries := cutElement(rest)
		element = bytes.Trim(element, jsonSpace)
		if i == 0 && len(element) == 0 && bytes.HasPrefix(after, []byte("]")) {
			return nil
		}
		if len(after) == 0 || after[0] == '}' {
			return malformed(data, io.ErrUnexpectedEOF, sendAnArray)
		}
		if i == a.BatchElements {
			return domain.Errorf(domain.TooLarge, "the array has more than %d elements, which is the limit; send several requests", i)
		}
		if err := checkJSON(data, element, cap(data)-cap(element)); err != nil {
			return err
		}
		refused := a.checkLength(element, "the element")
		if refused == nil {
			refused = hold(entries)
		}
		if refused != nil && domain.CodeOf(refused) != domain.TooLarge {
			return refused
		}
		var h Head
		var err error
		if refused == nil {
			err = decode(element)
		} else {
			err = json.Unmarshal(element, &h)
		}
		mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if err != nil && !ok {
			return malformed(data, err, sendAnArray)
		}
		if refused != nil && mistyped == nil {
			refuse(i, h, refused)
		} else {
			each(i, element, mistyped)
		}
		if after[0] == ']' {
			return nil
		}
		rest = after[1:]
	}
}

// jsonSpace is all that JSON takes for white space.
const jsonSpace = " \t\r\n"

// enterArray returns what follows the [ of an array.
func enterArray(data []byte) (rest []byte, err error) {
	text := bytes.TrimLeft(data, jsonSpace)
	if len(text) == 0 {
		return nil, malformed(data, io.EOF, sendAnArray)
	}
	if text[0] == '[' {
		return text[1:], nil
	}
	if kind := kindOf(text); kind != "" {
		return nil, domain.Errorf(domain.Invalid, "the body is %s; %s", kind, sendAnArray)
	}
	return nil, malformed(data, io.ErrUnexpectedEOF, sendAnArray)
}

// kindOf names what a JSON text that is no array begins as, "" for nothing.
func kindOf(text []byte) string {
	switch c := text[0]; {
	case c == '{':
		return "an object"
	case c == '"':
		return "a string"
	case bytes.HasPrefix(text, []byte("true")), bytes.HasPrefix(text, []byte("false")):
		return "a boolean"
	case c == '-' || '0' <= c && c <= '9':
		return "a number"
	default:
		return ""
	}
}

// checkLength refuses a JSON text, which messages call by name, that is too long.
func (a *API) checkLength(text []byte, name string) error {
	if len(text) > a.ElementBytes {
		return domain.Errorf(domain.TooLarge, "%s is %d bytes long, over the limit of %d bytes; make it shorter, or split it",
			name, len(text), a.ElementBytes)
	}
	return nil
}

// malformed says where data stops being JSON, and what to send. What found the fault may count from the start of an
// element.
func malformed(data []byte, err error, cure string) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return domain.Errorf(domain.Invalid, "the body is empty; %s", cure)
	}
	offset := len(data)
	var any json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &any)); ok {
		err = syntax
		if syntax.Error() != "unexpected end of JSON input" { // else the fault is after the last byte
			offset = max(0, int(syntax.Offset)-1)
		}
	}
	line, column := lineOf(data, offset)
	return domain.Errorf(domain.Invalid, "the body is no JSON: %v at line %d, column %d (byte %d); %s", err, line, column, offset, cure)
}
