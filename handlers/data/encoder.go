package data

import (
	"io"
	"strconv"
	"unicode/utf8"
)

// encoder writes an answer in one format, part by part. An object is begin, its keys each with a value, and end; a list
// is list, its elements and endList. An error ends the output, and all that comes after it does nothing.
type encoder interface {
	begin()
	end()
	list()
	endList()
	key(name string)
	text(s string)
	number(n int64)
	// bytes writes size bytes of r.
	bytes(r io.Reader, size int64)
	// long writes a text of any length.
	long(r io.Reader)
	// object writes the JSON value that r is.
	object(r io.Reader)
	// last is called when all is written.
	last()
}

// textBytes is how much of a long text is in memory at a time.
const textBytes = 8 << 10

// eachPart calls f with the parts of a text, none of which ends within a character.
func eachPart(r io.Reader, f func(part []byte)) error {
	buf := make([]byte, textBytes)
	for have := 0; ; {
		n, err := r.Read(buf[have:])
		have += n
		whole := have
		if err == nil {
			whole = wholeRunes(buf[:have])
		}
		if whole > 0 {
			f(buf[:whole])
		}
		have = copy(buf, buf[whole:have])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// wholeRunes is the length of b without a character that is not all there.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
