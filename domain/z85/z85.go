// Package z85 writes bytes as text in the way of ZeroMQ (https://rfc.zeromq.org/spec/32/): five characters for four bytes. Keys of
// CURVE are exchanged in this form.
package z85

import (
	"encoding/binary"
	"errors"
	"strings"
)

const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// KeyBytes and KeyLength are the length of a key of CURVE, in bytes and as text.
const (
	KeyBytes  = 32
	KeyLength = KeyBytes / 4 * 5
)

var (
	errLength = errors.New("its length is not a multiple of 5")
	errText   = errors.New("it is not written in Z85")
)

// Encode returns the text of bytes, whose number must be a multiple of 4.
func Encode(b []byte) string {
	var text strings.Builder
	for ; len(b) >= 4; b = b[4:] {
		var group [5]byte
		for i, n := 4, binary.BigEndian.Uint32(b); i >= 0; i-- {
			group[i] = digits[n%85]
			n /= 85
		}
		text.Write(group[:])
	}
	return text.String()
}

// Decode is the inverse of Encode.
func Decode(text string) ([]byte, error) {
	if len(text)%5 != 0 {
		return nil, errLength
	}
	b := make([]byte, 0, len(text)/5*4)
	for ; text != ""; text = text[5:] {
		var n uint64
		for i := range 5 {
			digit := strings.IndexByte(digits, text[i])
			if digit < 0 {
				return nil, errText
			}
			n = n*85 + uint64(digit)
		}
		if n > 1<<32-1 {
			return nil, errText
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b, nil
}
