package domain

import "strings"

// Hops are the instances of Ledge that a request has passed, by their ids, the first one first. They travel between instances in a
// header, and on the log behind the correlation id, from a request to all that follows from it: "c-1 via 93f0c5a7d21b64e8,0b7e66d1c8a94f35".
type Hops []string

// MaxHops bounds the hops of a request, and MaxOwnHops how often one instance may be among them: a change that is mirrored to another
// instance may come back once.
const (
	MaxHops    = 16
	MaxOwnHops = 1
)

// HopLength is the length of an instance's id, in hexadecimal digits.
const HopLength = 16

const via = " via "

// ParseHops reads ids with commas between them; what is not an id is left out.
func ParseHops(text string) (h Hops) {
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.TrimSpace(id); isHop(id) {
			h = append(h, id)
		}
		if len(h) > MaxHops {
			break
		}
	}
	return h
}

func isHop(id string) bool {
	return len(id) == HopLength && strings.Trim(id, "0123456789abcdef") == ""
}

func (h Hops) String() string { return strings.Join(h, ",") }

// Loops reports whether a request with these hops goes round, as seen by the instance self.
func (h Hops) Loops(self string) bool {
	own := 0
	for _, id := range h {
		if id == self {
			own++
		}
	}
	return own > MaxOwnHops || len(h) > MaxHops
}

// Behind returns a correlation id with the hops behind it.
func (h Hops) Behind(correlation string) string {
	if len(h) == 0 {
		return correlation
	}
	return correlation + via + h.String()
}

// CutHops parts a correlation id from the hops behind it.
func CutHops(correlation string) (id string, h Hops) {
	at := strings.LastIndex(correlation, via)
	if at < 0 {
		return correlation, nil
	}
	text := correlation[at+len(via):]
	if h = ParseHops(text); h.String() != text {
		return correlation, nil
	}
	return correlation[:at], h
}
