// Package yamldoc reads texts that must be one YAML document. The library reads the first document of a text and does not look at what
// follows.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// SecondError says that something follows the first document of a text. Line is where it begins, from 1; 0 if the library does not say.
type SecondError struct{ Line int }

// Error implements error.
func (e *SecondError) Error() string {
	if e.Line == 0 {
		return "something follows the first document; leave one of them out"
	}
	return fmt.Sprintf("line %d: a second document begins; leave one of them out", e.Line)
}

// Unmarshal is [yaml.Unmarshal], and refuses a text with a second document with a [*SecondError]. One empty document at the end is no
// fault.
func Unmarshal(text []byte, v any) error {
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(v); err != nil {
		if errors.Is(err, io.EOF) { // nothing but comments
			return nil
		}
		return err
	}
	for trailing := false; ; trailing = true {
		var next yaml.Node
		err := in.Decode(&next)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &SecondError{lineOf(err)}
		case trailing || next.Content[0].Tag != "!!null": // a document has one node
			return &SecondError{next.Content[0].Line}
		}
	}
}

// lineOf is the line in an error of the library. It counts from 0 if a document begins without ---, as a second text in JSON does.
func lineOf(err error) int {
	_, text, _ := strings.Cut(err.Error(), "line ")
	number, _, _ := strings.Cut(text, ":")
	line, _ := strconv.Atoi(number)
	if strings.Contains(err.Error(), "<document start>") {
		line++
	}
	return line
}
