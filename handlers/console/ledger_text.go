package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ledge/domain"
)

const (
	// mostDifferences bounds the rows of one event's difference, mostValue the characters of one value in it.
	mostDifferences, mostValue = 500, 4 << 10
)

// shortened is a text that fits into a row.
func shortened(text string) string {
	if len(text) <= mostValue {
		return text
	}
	return strings.ToValidUTF8(text[:mostValue], "") + "…"
}

// flatten makes a row of each value that differs, by its path, such as protocols.other.Address.
func flatten(path string, changes domain.Changes, rows []difference) []difference {
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(rows) >= mostDifferences {
			return rows
		}
		d := changes[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case d.In != nil:
			rows = flatten(at, d.In, rows)
		case d.At != nil:
			rows = append(rows, difference{fmt.Sprintf("%s[%d]", at, *d.At), shortened(indented(d.Was)), shortened(indented(d.Is))})
		default:
			rows = append(rows, difference{at, shortened(indented(d.Was)), shortened(indented(d.Is))})
		}
	}
	return rows
}

// indented is a JSON value for people; "" where there is none.
func indented(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// readable is the data of an event where it is text; JSON is indented.
func readable(e Entry) string {
	if e.Size == len(e.Data) && json.Valid(e.Data) {
		return indented(e.Data)
	}
	if utf8.Valid(e.Data) {
		return string(e.Data)
	}
	return ""
}
