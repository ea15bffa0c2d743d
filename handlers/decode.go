package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"ledge/domain"
	"ledge/handlers/jsonform"
)

// profileElement is the longest text of an element that is a profile, in bytes: the longest profile as an answer has it, and some
// white space.
const profileElement = 10 << 20

// ForProfiles returns the API for routes that take whole profiles, which may be longer than other entities.
func (a *API) ForProfiles() *API {
	api := *a
	api.BodyBytes, api.ElementBytes = 2*a.BodyBytes, profileElement
	return &api
}

// decodeBatch hands each element of a JSON array to each, with the first field that has a wrong type, if any. Elements
// are decoded one by one, each of at most ElementBytes and the limits of domain/jsonlimit; before that, hold is asked for the memory of
// an element's entries. An element that is too large is not decoded: refuse gets its head and the reason. As in EdgeX 2.3, what follows the
// array is not looked at, and null is an array without elements.
func decodeBatch(
	a *API, decode func(element []byte) error, data []byte, hold func(entries int) error,
	each func(i int, element []byte, mistyped *json.UnmarshalTypeError), refuse func(i int, h Head, err error),
) error {
	if bytes.HasPrefix(bytes.TrimLeft(data, jsonform.Space), []byte("null")) {
		return nil
	}
	rest, err := jsonform.EnterArray(data)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		element, after, entries := jsonform.CutElement(rest)
		element = bytes.Trim(element, jsonform.Space)
		if i == 0 && len(element) == 0 && bytes.HasPrefix(after, []byte("]")) {
			return nil
		}
		if len(after) == 0 || after[0] == '}' {
			return jsonform.RefuseMalformed(data, io.ErrUnexpectedEOF, jsonform.SendAnArray)
		}
		if i == a.BatchElements {
			return domain.Errorf(domain.TooLarge, "the array has more than %d elements, which is the limit; send several requests", i)
		}
		if err := jsonform.CheckLimits(data, element, cap(data)-cap(element)); err != nil {
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
			return jsonform.RefuseMalformed(data, err, jsonform.SendAnArray)
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

// checkLength refuses a JSON text, which messages call by name, that is too long.
func (a *API) checkLength(text []byte, name string) error {
	if len(text) > a.ElementBytes {
		return domain.Errorf(domain.TooLarge, "%s is %d bytes long, over the limit of %d bytes; make it shorter, or split it",
			name, len(text), a.ElementBytes)
	}
	return nil
}
