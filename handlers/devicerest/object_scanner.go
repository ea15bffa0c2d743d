package devicerest

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"ledge/domain/jsonlimit"
)

// maxObjectDepth is the depth that all JSON may have.
const maxObjectDepth = jsonlimit.Depth

// objectScanner checks byte by byte that a text is one JSON object, or with any one JSON value, within the limits of domain/jsonlimit. It takes for
// JSON what json.Valid does: strings may hold invalid UTF-8 and unpaired surrogates, and keys may repeat. It keeps the
// brackets that are open, one bit each, and of the text only the number that is being read.
type objectScanner struct {
	any    bool // any JSON value will do, but null
	expect expectation
	open   [maxObjectDepth/8 + 1]byte // by level, whether it is an object or an array
	depth  int
	isKey  bool   // the string that is being read is a key
	digits int    // of a \u escape, that are missing
	word   string // what is missing of true, false or null
	figure []byte // the number that is being read, as far as its length is allowed
	read   int64  // bytes
}

// expectation is what may come next.
type expectation uint8

const (
	expectFirst expectation = iota
	expectKeyOrEnd
	expectKey
	expectColon
	expectValue
	expectValueOrEnd
	expectCommaOrEnd
	expectNothing // but white space: the value is complete

	inString
	inEscape
	inUnicodeEscape
	inWord

	afterMinus
	afterZero // a leading one
	inInteger
	afterPoint
	inFraction
	afterE
	afterESign
	inExponent
)

var (
	errNoBrace = errors.New("it does not begin with {")
	errNull    = errors.New("null is not a value")
)

// scan takes the next part of the text. After an error the scanner is spent.
func (s *objectScanner) scan(p []byte) error {
	for i := 0; i < len(p); i++ {
		if s.expect == inString {
			n := plain(p[i:])
			s.read += int64(n)
			if i += n; i == len(p) {
				break
			}
		}
		if err := s.next(p[i]); err != nil {
			return err
		}
		s.read++
	}
	return nil
}

// plain counts the bytes that a string begins with and that mean themselves.
func plain(p []byte) int {
	for i, c := range p {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(p)
}

// end reports whether the text may end here.
func (s *objectScanner) end() error {
	switch s.expect {
	case expectNothing:
		return nil
	case afterZero, inInteger, inFraction, inExponent:
		if s.depth == 0 {
			return s.endNumber()
		}
	}
	return s.after(io.ErrUnexpectedEOF)
}

// endNumber takes a number whose last character was read.
func (s *objectScanner) endNumber() error {
	if what := jsonlimit.Number(s.figure); what != "" {
		return s.after(errors.New(what))
	}
	s.endValue()
	return nil
}

// endValue ends a value that is not a key.
func (s *objectScanner) endValue() {
	if s.expect = expectCommaOrEnd; s.depth == 0 {
		s.expect = expectNothing
	}
}

func (s *objectScanner) after(err error) error { return fmt.Errorf("after %d bytes: %w", s.read, err) }

// refuse says why c cannot be.
func (s *objectScanner) refuse(c byte, where string) error {
	return s.after(fmt.Errorf("invalid character %s %s", quoteByte(c), where))
}

func quoteByte(c byte) string {
	if c < 0x80 {
		return strconv.QuoteRune(rune(c))
	}
	return fmt.Sprintf("'\\x%02x'", c) // a part of a rune
}

func (s *objectScanner) next(c byte) error {
	switch {
	case s.expect >= afterMinus:
		return s.number(c)
	case s.expect >= inString:
		return s.token(c)
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		return nil
	}
	return s.structure(c)
}

// structure takes what stands between tokens, or begins one.
func (s *objectScanner) structure(c byte) error {
	switch s.expect {
	case expectFirst:
		switch {
		case !s.any && c != '{':
			return errNoBrace
		case c == 'n':
			return errNull
		}
		return s.value(c)
	case expectKeyOrEnd, expectKey:
		return s.key(c)
	case expectColon:
		if c != ':' {
			return s.refuse(c, "after object key")
		}
		s.expect = expectValue
		return nil
	case expectValueOrEnd:
		if c == ']' {
			s.leave()
			return nil
		}
		return s.value(c)
	case expectValue:
		return s.value(c)
	case expectCommaOrEnd:
		return s.commaOrEnd(c)
	default:
		return fmt.Errorf("something follows it after %d bytes", s.read)
	}
}

func (s *objectScanner) key(c byte) error {
	switch {
	case c == '"':
		s.expect, s.isKey = inString, true
	case c == '}' && s.expect == expectKeyOrEnd:
		s.leave()
	default:
		return s.refuse(c, "looking for beginning of object key string")
	}
	return nil
}

func (s *objectScanner) value(c byte) error {
	switch {
	case c == '{' || c == '[':
		return s.enter(c)
	case c == '"':
		s.expect, s.isKey = inString, false
	case c == '-':
		s.expect, s.figure = afterMinus, s.figure[:0]
	case c == '0':
		s.expect, s.figure = afterZero, append(s.figure[:0], c)
	case isDigit(c):
		s.expect, s.figure = inInteger, append(s.figure[:0], c)
	case c == 't':
		s.expect, s.word = inWord, "true"[1:]
	case c == 'f':
		s.expect, s.word = inWord, "false"[1:]
	case c == 'n':
		s.expect, s.word = inWord, "null"[1:]
	default:
		return s.refuse(c, "looking for beginning of value")
	}
	return nil
}

func (s *objectScanner) commaOrEnd(c byte) error {
	switch {
	case s.inObject() && c == ',':
		s.expect = expectKey
	case s.inObject() && c != '}':
		return s.refuse(c, "after object key:value pair")
	case c == ',':
		s.expect = expectValue
	case !s.inObject() && c != ']':
		return s.refuse(c, "after array element")
	default:
		s.leave()
	}
	return nil
}

// token takes what is inside a string or a word.
func (s *objectScanner) token(c byte) error {
	switch s.expect {
	case inString:
		return s.string(c)
	case inEscape:
		return s.escape(c)
	case inUnicodeEscape:
		if !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return s.refuse(c, "in \\u hexadecimal character escape")
		}
		if s.digits--; s.digits == 0 {
			s.expect = inString
		}
	default:
		if c != s.word[0] {
			return s.refuse(c, fmt.Sprintf("in a literal (expecting %q)", s.word[0]))
		}
		if s.word = s.word[1:]; s.word == "" {
			s.endValue()
		}
	}
	return nil
}

func (s *objectScanner) string(c byte) error {
	switch {
	case c == '\\':
		s.expect = inEscape
	case c < ' ':
		return s.refuse(c, "in string literal")
	case c == '"' && s.isKey:
		s.expect = expectColon
	case c == '"':
		s.endValue()
	}
	return nil
}

func (s *objectScanner) escape(c byte) error {
	switch c {
	case 'b', 'f', 'n', 'r', 't', '\\', '/', '"':
		s.expect = inString
	case 'u':
		s.expect, s.digits = inUnicodeEscape, 4
	default:
		return s.refuse(c, "in string escape code")
	}
	return nil
}

// number takes what goes on with a number, or what ends it and is none of it.
func (s *objectScanner) number(c byte) error {
	at := s.expect
	switch {
	case isDigit(c) && at != afterZero:
		s.expect = digitAfter(at, c)
	case c == '.' && (at == afterZero || at == inInteger):
		s.expect = afterPoint
	case (c == 'e' || c == 'E') && (at == afterZero || at == inInteger || at == inFraction):
		s.expect = afterE
	case (c == '+' || c == '-') && at == afterE:
		s.expect = afterESign
	case at == afterMinus, at == afterPoint, at == afterE, at == afterESign:
		return s.refuse(c, "in numeric literal")
	default:
		if err := s.endNumber(); err != nil {
			return err
		}
		return s.next(c)
	}
	if len(s.figure) <= jsonlimit.NumberLength { // one more than is allowed tells that it is too long
		s.figure = append(s.figure, c)
	}
	return nil
}

// digitAfter is where the digit c leads from a place in a number.
func digitAfter(at expectation, c byte) expectation {
	switch at {
	case afterMinus:
		if c == '0' {
			return afterZero
		}
		return inInteger
	case afterPoint:
		return inFraction
	case afterE, afterESign:
		return inExponent
	default:
		return at
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// enter goes a level down, into an object or an array.
func (s *objectScanner) enter(bracket byte) error {
	if s.depth++; s.depth > maxObjectDepth {
		return s.after(errors.New(jsonlimit.TooDeep))
	}
	if bracket == '{' {
		s.open[s.depth/8] |= 1 << (s.depth % 8)
		s.expect = expectKeyOrEnd
	} else {
		s.open[s.depth/8] &^= 1 << (s.depth % 8)
		s.expect = expectValueOrEnd
	}
	return nil
}

func (s *objectScanner) inObject() bool { return s.open[s.depth/8]&(1<<(s.depth%8)) != 0 }

func (s *objectScanner) leave() {
	s.depth--
	s.endValue()
}
