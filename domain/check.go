package domain

import (
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// checking collects the problems of an entity or of a patch. Both are checked by the same rules: an entity by all, a patch by the rules for
// the fields that it has.
type checking struct {
	Problems
	// has reports whether a patch has a field, by its name in JSON. It is nil for an entity.
	has func(field string) bool
}

// ruled is an entity with rules for its fields.
type ruled interface{ checkFields(c *checking) }

// newChecking returns the checking of an entity, with the problems of its id and its name.
func newChecking(id, name string) checking {
	var c checking
	c.checkID("id", id)
	c.checkName("name", name)
	return c
}

// isPatch reports whether a patch is checked, in which fields may be missing.
func (c *checking) isPatch() bool { return c.has != nil }

// wantsField reports whether a field is to be checked.
func (c *checking) wantsField(field string) bool { return c.has == nil || c.has(field) }

// checkField runs a check of a field that is a text.
func (c *checking) checkField(field, value string, check func(p *Problems, path, value string)) {
	if c.wantsField(field) {
		check(&c.Problems, field, value)
	}
}

// checkFilled notes that a list or a map of n entries is empty. needed is the least to give; example, which may be empty, is added for an
// entity.
func (c *checking) checkFilled(field string, n int, needed, example string) {
	switch {
	case n > 0 || !c.wantsField(field):
	case c.isPatch():
		c.Add(field, "is empty; give %s, or leave it out to keep what is there", needed)
	default:
		c.Add(field, "is missing or empty; give %s%s", needed, example)
	}
}

// checkState notes that a field is not one of the allowed states.
func (c *checking) checkState(field, value string, allowed ...string) {
	if c.wantsField(field) {
		c.checkOneOf(field, value, allowed...)
	}
}

// MaxName is the length of a name in bytes: what still fits a NATS subject with the names beside it.
const MaxName = 256

// inNames says of each character whether it may be in a name: those that RFC 3986 leaves unreserved, less the dot, plus
// those that EdgeX 2.3 allows.
var inNames = func() (in [utf8.RuneSelf]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~:;=" {
		in[c] = true
	}
	return in
}()

// CheckName notes what is wrong with the name at path.
func CheckName(path, name string) Problems {
	var p Problems
	p.checkName(path, name)
	return p
}

// checkName notes what is wrong with a name that must be there.
func (p *Problems) checkName(path, name string) {
	if name == "" {
		p.Add(path, "is missing or empty; give a name")
		return
	}
	p.checkToken(path, name)
}

// checkToken notes what is wrong with a name that may be missing.
func (p *Problems) checkToken(path, name string) {
	p.checkLength(path, name)
	if i := strings.IndexFunc(name, isForeign); i >= 0 {
		r := []rune(name[i:])[0]
		p.Add(path, "%s has the character %q; use only letters, digits and - _ ~ : ; =", quote(name), r)
	}
}

// isForeign reports whether r has no place in a name.
func isForeign(r rune) bool { return r >= utf8.RuneSelf || !inNames[r] }

func (p *Problems) checkLength(path, value string) {
	if len(value) > MaxName {
		p.Add(path, "%s is %d bytes long; use at most %d", quote(value), len(value), MaxName)
	}
}

func (p *Problems) checkOneOf(path, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	if value == "" {
		p.Add(path, "is missing or empty; use one of %s", strings.Join(allowed, ", "))
		return
	}
	p.Add(path, "%s is unknown; use one of %s", quote(value), strings.Join(allowed, ", "))
}

func (p *Problems) checkID(path, id string) {
	if id != "" && !IsUUID(id) {
		p.Add(path, "%s is no UUID; leave it out to get one", quote(id))
	}
}

func (p *Problems) checkText(path, value string) {
	switch {
	case value == "":
		p.Add(path, "is missing or empty; give a value")
	case strings.TrimSpace(value) == "": // EdgeX 2.3 takes it for none
		p.Add(path, "is only white space; give a value")
	}
}

func (p *Problems) checkURL(path, value string) {
	if value == "" {
		p.Add(path, "is missing or empty; give a URL such as http://localhost:59999")
		return
	}
	if u, err := url.ParseRequestURI(value); err != nil || u.Host == "" {
		p.Add(path, "%s is not an absolute URL; write it as http://host:port", quote(value))
	}
}

func (p *Problems) checkDuration(path, value string) {
	if d, err := time.ParseDuration(value); err != nil || d < 0 {
		p.Add(path, "%s is not a duration; write it as 300ms, 10s or 24h", quote(value))
	}
}

func (p *Problems) checkMediaType(path, value string) {
	if value == "" {
		return
	}
	if _, _, err := mime.ParseMediaType(value); err != nil || strings.ContainsFunc(value, unicode.IsControl) {
		p.Add(path, "%s is not a media type; write it as image/jpeg", quote(value))
	}
}

// IsUUID reports whether s has the form of a UUID: 8-4-4-4-12 hexadecimal digits.
func IsUUID(s string) bool {
	const form = "00000000-0000-0000-0000-000000000000"
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		if form[i] == '-' {
			if s[i] != '-' {
				return false
			}
		} else if c := s[i] | 0x20; (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// quote shows a value in a message, cut where it is long.
func quote(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%.77q…", s)
	}
	return fmt.Sprintf("%q", s)
}

// checkIndexed runs check on each element under "path[i]".
func checkIndexed[T any](p *Problems, path string, list []T, check func(*Problems, string, T)) {
	for i, v := range list {
		check(p, at(path, i), v)
	}
}

// at is the path of one element of a list.
func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
