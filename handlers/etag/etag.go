// Package etag reads the entity tags that a request names.
package etag

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ledge/domain"
)

// Tags are the entity tags that a request names. A tag that is not a revision is left out: it never was an answer's.
type Tags struct {
	Any          bool // *
	Strong, weak []uint64
}

const listSpace = " \t"

// Read reads a header that is * or a list of entity tags (RFC 9110, 8.8.3 and 13.1); nil where there is none. The
// length of a request's headers bounds the list.
func Read(h http.Header, name string) (*Tags, error) {
	lines := h.Values(name)
	if len(lines) == 0 {
		return nil, nil
	}
	text := strings.Join(lines, ",")
	if strings.Trim(text, listSpace) == "*" {
		return &Tags{Any: true}, nil
	}
	t, n := &Tags{}, 0
	rest := strings.TrimLeft(text, listSpace+",")
	for ; rest != ""; n++ {
		opaque, weak, after, ok := cutTag(rest)
		after = strings.TrimLeft(after, listSpace)
		if !ok || after != "" && after[0] != ',' {
			n = 0
			break
		}
		t.add(opaque, weak)
		rest = strings.TrimLeft(after, listSpace+",")
	}
	if n == 0 {
		return nil, domain.Errorf(domain.Invalid, `%s %.80q is not a list of entity tags; send the ETag of an answer, with its quotes, such as "42", or several with commas between them, or *`, name, text)
	}
	return t, nil
}

// cutTag cuts the entity tag off that text begins with.
func cutTag(text string) (opaque string, weak bool, after string, ok bool) {
	text, weak = strings.CutPrefix(text, "W/")
	text, opened := strings.CutPrefix(text, `"`)
	opaque, after, closed := strings.Cut(text, `"`)
	bad := strings.ContainsFunc(opaque, func(r rune) bool { return r <= ' ' || r == 0x7f })
	return opaque, weak, after, opened && closed && !bad
}

func (t *Tags) add(opaque string, weak bool) {
	revision, err := strconv.ParseUint(opaque, 10, 64)
	if err != nil || strconv.FormatUint(revision, 10) != opaque {
		return
	}
	if weak {
		t.weak = append(t.weak, revision)
	} else {
		t.Strong = append(t.Strong, revision)
	}
}

// Match compares weakly, as If-None-Match does.
func (t *Tags) Match(revision uint64) bool {
	return t.Any || slices.Contains(t.Strong, revision) || slices.Contains(t.weak, revision)
}

// Knows reports whether an If-None-Match has tag, by RFC 9110's weak comparison.
func Knows(ifNoneMatch, tag string) bool {
	return slices.ContainsFunc(strings.Split(ifNoneMatch, ","), func(one string) bool {
		one = strings.TrimSpace(one)
		return one == "*" || strings.TrimPrefix(one, "W/") == tag
	})
}
