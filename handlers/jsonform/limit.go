package jsonform

import (
	"bytes"
	"errors"

	"ledge/domain"
	"ledge/domain/jsonlimit"
)

const makeItFlatter = "make the value flatter, or its numbers smaller"

// CheckLimits refuses JSON that is nested too deep or has a number beyond a float64. text is a part of body, from start on.
func CheckLimits(body, text []byte, start int) error {
	over, ok := errors.AsType[*jsonlimit.Error](jsonlimit.Check(text))
	if !ok {
		return nil
	}
	offset := start + over.Offset
	line, column := lineOf(body, offset)
	return domain.Errorf(domain.Invalid, "the body cannot be taken: %s, at line %d, column %d (byte %d); %s", over.What, line, column, offset, makeItFlatter)
}

// lineOf returns the line and column, both from 1, of a byte.
func lineOf(body []byte, offset int) (line, column int) {
	before := body[:min(offset, len(body))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
