// Package jsonlimit refuses JSON that other programs, or Ledge itself, could not read back: it is nested too deep, or a
// number in it is beyond a float64.
//
// [Check] takes one pass, needs no memory and does not recurse. It does not ask whether the text is JSON: the decoder
// does that. In a text that is not JSON it may refuse anything or nothing.
package jsonlimit

import (
	"errors"
	"fmt"
	"strconv"
)

const (
	// Depth is how many objects and lists may be open at once. encoding/json reads 10,000, but what holds a client's value
	// adds levels of its own, and parsers of other languages stop much earlier.
	Depth = 64
	// NumberLength is the longest text of a number, in bytes.
	NumberLength = 1024
)

// Error says what is over a limit, and at which byte of the text it begins. It never quotes the text, which may be a secret.
type Error struct {
	Offset int
	What   string
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

// TooDeep is the What of an Error about the depth; TooLarge and TooLong are those about numbers.
var (
	TooDeep  = fmt.Sprintf("objects and lists are nested more than %d levels deep", Depth)
	TooLarge = "a number is outside the range of a float64 (±1.8e308)"
	TooLong  = fmt.Sprintf("a number has more than %d characters", NumberLength)
)

// Check returns an [*Error] for the first place in a JSON text that is over a limit, nil where there is none.
func Check(text []byte) error {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = endOfString(text, i)
		case c == '{' || c == '[':
			if depth++; depth > Depth {
				return &Error{i, TooDeep}
			}
		case c == '}' || c == ']':
			depth--
		case c-'0' <= 9:
			end := endOfNumber(text, i)
			if what := Number(text[i:end]); what != "" {
				return &Error{i, what}
			}
			i = end - 1
		}
	}
	return nil
}

// plainDigits is how many digits without an exponent are surely within a float64.
const plainDigits = 300

// Number says what is wrong with the text of a number, "" for nothing. The sign does not matter.
func Number(text []byte) string {
	switch {
	case len(text) > NumberLength:
		return TooLong
	case len(text) <= plainDigits && !hasExponent(text):
		return ""
	}
	if _, err := strconv.ParseFloat(string(text), 64); errors.Is(err, strconv.ErrRange) {
		return TooLarge
	}
	return ""
}

func hasExponent(text []byte) bool {
	for _, c := range text {
		if c|0x20 == 'e' {
			return true
		}
	}
	return false
}

// endOfNumber returns where the characters end that a number can have.
func endOfNumber(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c-'0' <= 9, c == '.', c == '+', c == '-', c|0x20 == 'e':
			i++
		default:
			return i
		}
	}
	return i
}

// endOfString returns where the quote is that closes the one at i, or the last byte.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
