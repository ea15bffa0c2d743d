package projections

import "encoding/hex"

// A name, in row keys and at the end of index entries, is a byte that says how it is written, and the name.
const (
	plainName  byte = 0 // as it is; what is too long is cut
	packedName byte = 1 // the 16 bytes of a UUID in its canonical form, which sort as that does
)

// packedLength is that of a packed name in bytes.
const packedLength = 1 + 16

// appendName appends a name as it is in keys.
func appendName(dst []byte, name string) []byte {
	if u, ok := packed(name); ok {
		return append(append(dst, packedName), u[:]...)
	}
	return appendCut(append(dst, plainName), name, longestName)
}

// nameIn returns the name that is in a key, or, of a plain one that is too long, what is left of it.
func nameIn(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if b[0] != packedName || len(b) != packedLength {
		return string(b[1:])
	}
	var s [36]byte
	hex.Encode(s[:8], b[1:5])
	hex.Encode(s[9:13], b[5:7])
	hex.Encode(s[14:18], b[7:9])
	hex.Encode(s[19:23], b[9:11])
	hex.Encode(s[24:], b[11:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// isWhole reports whether nameIn gives back a name.
func isWhole(name string) bool { return len(name) <= longestName }

// packed returns the bytes of a UUID whose digits are in groups of 8, 4, 4, 4 and 12 and in lower case.
func packed(name string) (u [16]byte, ok bool) {
	if len(name) != 36 {
		return u, false
	}
	digits := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return u, false
			}
			continue
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return u, false
		}
		u[digits/2] |= c << (4 * (1 - digits%2))
		digits++
	}
	return u, true
}
