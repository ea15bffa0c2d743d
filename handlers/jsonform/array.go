package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"ledge/domain"
)

// SendAnArray is the cure for a body that must be an array.
const SendAnArray = "send an array of objects: [{…}]"

// Space is all that JSON takes for white space.
const Space = " \t\r\n"

// EnterArray returns what follows the [ of an array.
func EnterArray(data []byte) (rest []byte, err error) {
	text := bytes.TrimLeft(data, Space)
	if len(text) == 0 {
		return nil, RefuseMalformed(data, io.EOF, SendAnArray)
	}
	if text[0] == '[' {
		return text[1:], nil
	}
	if kind := kindOf(text); kind != "" {
		return nil, domain.Errorf(domain.Invalid, "the body is %s; %s", kind, SendAnArray)
	}
	return nil, RefuseMalformed(data, io.ErrUnexpectedEOF, SendAnArray)
}

// kindOf names what a JSON text that is not an array begins as, "" for nothing.
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

// RefuseMalformed says where data stops being JSON, and what to send. What found the fault may count from the start of an
// element.
func RefuseMalformed(data []byte, err error, cure string) error {
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
