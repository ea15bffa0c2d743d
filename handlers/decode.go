package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ledge/domain"
	"ledge/domain/fastjson"
)

const (
	// maxElement is the longest text of one element, in bytes: room for the longest content of a notification and its
	// escapes.
	maxElement = 4 << 20
	// maxEntries bounds the entries of the lists and objects in one element: decoded they take far more than their text,
	// {}, for one some hundred bytes.
	maxEntries = 20_000
	// entryBytes is what an entry counts in memory while its request is served.
	entryBytes = 128
)

const sendAnArray = "send an array of objects: [{…}]"

// decodeBatch hands each element of a JSON array to each, with the first field that has a wrong type, if any. Elements
// are decoded one by one, each of at most maxElement bytes, maxEntries and the limits of domain/jsonlimit; before that,
// hold is asked for the memory of an element's entries. As in EdgeX 2.3, what follows the array is not looked at, and null is
// an array without elements. What e points to is another element as soon as each returns.
func decodeBatch[E any](a *API, codec fastjson.Codec[E], data []byte, hold func(entries int) error, each func(i int, e *E, element []byte, mistyped *json.UnmarshalTypeError)) error {
	if bytes.HasPrefix(bytes.TrimLeft(data, jsonSpace), []byte("null")) {
		return nil
	}
	rest, err := enterArray(data)
	if err != nil {
		return err
	}
	var none E
	e := new(E)
	for i := 0; ; i++ {
		element, after, entries := cutElement(rest)
		element = bytes.Trim(element, jsonSpace)
		if i == 0 && len(element) == 0 && bytes.HasPrefix(after, []byte("]")) {
			return nil
		}
		if len(after) == 0 || after[0] == '}' {
			return malformed(data, io.ErrUnexpectedEOF, sendAnArray)
		}
		if err := a.checkElement(i, element, entries); err != nil {
			return err
		}
		if err := checkJSON(data, element, cap(data)-cap(element)); err != nil {
			return err
		}
		if err := hold(entries); err != nil {
			return err
		}
		*e = none
		err := codec.Unmarshal(element, e)
		mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if err != nil && !ok {
			return malformed(data, err, sendAnArray)
		}
		each(i, e, element, mistyped)
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

// checkElement refuses an element that is one too many or too large.
func (a *API) checkElement(i int, element []byte, entries int) error {
	if i == a.BatchElements {
		return domain.Errorf(domain.TooLarge, "the array has more than %d elements, which is the limit; send several requests", i)
	}
	return checkSize(element, entries, func() string { return fmt.Sprintf("[%d]: the element", i) })
}

// checkSize refuses a JSON text, which messages call by name, that is too long or has too many entries.
func checkSize(text []byte, entries int, name func() string) error {
	switch {
	case len(text) > maxElement:
		return domain.Errorf(domain.TooLarge, "%s is %d bytes long, over the limit of %d bytes; make it shorter", name(), len(text), maxElement)
	case entries > maxEntries:
		return domain.Errorf(domain.Invalid, "%s has %d entries in its lists and objects, over the limit of %d; give it fewer", name(), entries, maxEntries)
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
