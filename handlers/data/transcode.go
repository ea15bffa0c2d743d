package data

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// transcode writes the JSON that r is, which was checked when it was posted, as CBOR, with a few kilobytes in memory
// however long it or one of its strings is.
func transcode(e cborEncoder, r io.Reader) error {
	in := bufio.NewReaderSize(r, textBytes)
	for {
		c, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch c {
		case ' ', '\t', '\r', '\n', ',', ':':
		case '{':
			e.begin()
		case '[':
			e.list()
		case '}', ']':
			e.item(cborBreak)
		case '"':
			err = transcodeString(e, in)
		default:
			err = transcodeWord(e, in, c)
		}
		if err != nil {
			return err
		}
	}
}

// transcodeString writes a string whose opening quote is read: in one piece where it is short.
func transcodeString(e cborEncoder, in *bufio.Reader) error {
	part, parts := make([]byte, 0, 64), false
	for {
		c, err := in.ReadByte()
		if err != nil {
			return unexpected(err)
		}
		switch c {
		case '"':
			if !parts || len(part) > 0 {
				e.text(string(part))
			}
			if parts {
				e.item(cborBreak)
			}
			return nil
		case '\\':
			if part, err = appendEscape(part, in); err != nil {
				return err
			}
		default:
			part = append(part, c)
		}
		if len(part) >= textBytes {
			if !parts {
				parts = true
				e.item(openText)
			}
			whole := wholeRunes(part)
			e.text(string(part[:whole]))
			part = part[:copy(part, part[whole:])]
		}
	}
}

var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '/': '/'}

// appendEscape appends what an escape stands for whose backslash is read.
func appendEscape(part []byte, in *bufio.Reader) ([]byte, error) {
	c, err := in.ReadByte()
	if err != nil {
		return nil, unexpected(err)
	}
	if c != 'u' {
		return append(part, escapes[c]), nil
	}
	r, err := readUnit(in)
	if err != nil {
		return nil, err
	}
	if next, err := in.Peek(2); utf16.IsSurrogate(r) && err == nil && string(next) == `\u` {
		if low, err := in.Peek(6); err == nil {
			n, err := strconv.ParseUint(string(low[2:]), 16, 16)
			if pair := utf16.DecodeRune(r, rune(n)); err == nil && pair != utf8.RuneError {
				_, err = in.Discard(6)
				return utf8.AppendRune(part, pair), err
			}
		}
	}
	return utf8.AppendRune(part, r), nil // of half a pair it makes U+FFFD
}

func readUnit(in *bufio.Reader) (rune, error) {
	var digits [4]byte
	if _, err := io.ReadFull(in, digits[:]); err != nil {
		return 0, unexpected(err)
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	return rune(n), err
}

// longestNumber is how many characters of a number are looked at, and longestExponent how many more of an exponent behind
// them. The digits after those are left out: a float has some hundred at most.
const (
	longestNumber   = 4 << 10
	longestExponent = 32
)

// transcodeWord writes true, false, null or a number that begins with c.
func transcodeWord(e cborEncoder, in *bufio.Reader, c byte) error {
	switch text := string(readWord(in, c)); text {
	case "true":
		e.item(cborTrue)
	case "false":
		e.item(cborFalse)
	case "null":
		e.item(cborNull)
	default:
		return transcodeNumber(e, text)
	}
	return nil
}

// readWord reads all of the word that begins with c, and returns what is looked at of it.
func readWord(in *bufio.Reader, c byte) []byte {
	word, most := []byte{c}, longestNumber
	for {
		next, err := in.Peek(1)
		if err != nil || !isWord(next[0]) {
			return word
		}
		if c := next[0]; c != '.' && (c < '0' || c > '9') {
			most = longestNumber + longestExponent
		}
		if len(word) < most {
			word = append(word, next[0])
		}
		_, _ = in.Discard(1)
	}
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E' || c == '-' || c == '+' || c == '.'
}

func transcodeNumber(e cborEncoder, text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		e.number(n)
		return nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		e.head(majorUint, n)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range is infinite
		return fmt.Errorf("%.80q is no JSON", text)
	}
	e.item(cborFloat)
	_, _ = e.out.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(f)))
	return nil
}

// unexpected is for what ends too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
