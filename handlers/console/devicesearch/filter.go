package devicesearch

import (
	"slices"
	"strings"
)

// The kinds of terms.
const (
	KindWord    = "" // a part of the name, of a label, of the profile or of the service
	KindLabel   = "label"
	KindProfile = "profile"
	KindService = "service"
	KindIs      = "is" // a state, one of States
)

// States are the values of terms of the kind is. A silent device is late; see package silence.
var States = []string{"down", "up", "unknown", "locked", "unlocked", Silent}

// Silent is the state of a device that is silent for longer than usual. The index does not know it: see Query.Only.
const Silent = "silent"

// mostTerms bounds the terms of a filter. Each one is compared with each device.
const mostTerms = 16

var kinds = []string{KindLabel, KindProfile, KindService, KindIs}

// Term is a condition of a filter.
type Term struct{ Kind, Value string }

// Filter selects the devices that meet each of its terms.
type Filter []Term

// Parse reads the text of a filter: words, and terms such as label:north, profile:"hall sensor" or is:down. Quotes hold spaces; two quotes
// within quotes stand for one. Terms after the first 16 are left out.
func Parse(text string) (f Filter) {
	for len(f) < mostTerms {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			break
		}
		kind := KindWord
		if before, rest, ok := strings.Cut(text, ":"); ok && slices.Contains(kinds, before) {
			kind, text = before, rest
		}
		var value string
		value, text = cutValue(text)
		f = f.addTerm(kind, value)
	}
	return f
}

// cutValue returns the value that a text begins with, without its quotes, and the rest of the text.
func cutValue(text string) (value, rest string) {
	rest, quoted := strings.CutPrefix(text, `"`)
	if !quoted {
		end := strings.IndexAny(text, " \t\r\n")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:]
	}
	for {
		part, after, closed := strings.Cut(rest, `"`)
		value, rest = value+part, after
		if !closed || !strings.HasPrefix(rest, `"`) {
			return value, rest
		}
		value, rest = value+`"`, rest[1:]
	}
}

// addTerm returns the filter with a term more, unless it has the term, or the term has no value. An unknown state is a word.
func (f Filter) addTerm(kind, value string) Filter {
	switch kind {
	case KindIs:
		if value = strings.ToLower(value); value != "" && !slices.Contains(States, value) {
			kind, value = KindWord, "is:"+value
		}
	case KindWord:
		value = strings.ToLower(value)
	}
	if one := (Term{kind, value}); value != "" && !slices.Contains(f, one) {
		return append(slices.Clip(f), one)
	}
	return f
}

// With returns the filter with a term more, unless it has the term.
func (f Filter) With(kind, value string) Filter {
	if len(f) >= mostTerms {
		return f
	}
	return f.addTerm(kind, value)
}

// Without returns the filter without a term.
func (f Filter) Without(one Term) Filter {
	return slices.DeleteFunc(slices.Clone(f), func(t Term) bool { return t == one })
}

// Has reports whether the filter has a term.
func (f Filter) Has(kind, value string) bool { return slices.Contains(f, Term{kind, value}) }

// Words are the terms that are words.
func (f Filter) Words() Filter {
	return slices.DeleteFunc(slices.Clone(f), func(t Term) bool { return t.Kind != KindWord })
}

// Chips are the terms that are not words.
func (f Filter) Chips() Filter {
	return slices.DeleteFunc(slices.Clone(f), func(t Term) bool { return t.Kind == KindWord })
}

// String is the text that Parse reads.
func (f Filter) String() string {
	texts := make([]string, len(f))
	for i, t := range f {
		texts[i] = t.String()
	}
	return strings.Join(texts, " ")
}

// String is the text of a term, such as label:"north side".
func (t Term) String() string {
	value := t.Value
	looksLikeTerm := t.Kind == KindWord && strings.Contains(value, ":")
	if looksLikeTerm || strings.ContainsAny(value, " \t\r\n") || strings.HasPrefix(value, `"`) {
		value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	if t.Kind == KindWord {
		return value
	}
	return t.Kind + ":" + value
}

// matchDevice reports whether a device meets each term. Query.Only tells which devices are silent.
func (f Filter) matchDevice(l *Device) bool {
	for _, t := range f {
		if !t.matchDevice(l) {
			return false
		}
	}
	return true
}

func (t Term) matchDevice(l *Device) bool {
	switch t.Kind {
	case KindLabel:
		return slices.Contains(l.Labels, t.Value)
	case KindProfile:
		return l.Profile == t.Value
	case KindService:
		return l.Service == t.Value
	case KindIs:
		return t.Value == Silent || strings.EqualFold(l.AdminState, t.Value) || strings.EqualFold(l.OperatingState, t.Value)
	}
	return strings.Contains(l.text, t.Value)
}
