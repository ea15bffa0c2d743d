package devicesearch

import (
	"cmp"
	"strings"
)

// Natural compares names as people sort them: cam-2 is before cam-10. Digits are compared as numbers, all else byte by byte. Names that
// differ in leading zeros only, such as cam-2 and cam-02, are compared as texts.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if digit(x[0]) && digit(y[0]) {
			m, n := digits(x), digits(y)
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// digits is how many digits a text begins with.
func digits(text string) int {
	for i := range len(text) {
		if !digit(text[i]) {
			return i
		}
	}
	return len(text)
}
