package devicesearch

import (
	"slices"
	"strings"
	"testing"
)

// TestFilterText reads texts of filters, and writes them as one reads them again.
func TestFilterText(t *testing.T) {
	for text, want := range map[string]Filter{
		"":                               nil,
		"  Cam  north ":                  {{KindWord, "cam"}, {KindWord, "north"}},
		"label:North is:DOWN x":          {{KindLabel, "North"}, {KindIs, "down"}, {KindWord, "x"}},
		`profile:"hall sensor" service:`: {{KindProfile, "hall sensor"}},
		`label:"a ""b"""`:                {{KindLabel, `a "b"`}},
		`label:a"b`:                      {{KindLabel, `a"b`}},
		`label:"never closed`:            {{KindLabel, "never closed"}},
		`"label:x"`:                      {{KindWord, "label:x"}},
		"is:asleep":                      {{KindWord, "is:asleep"}},
		"label:x label:x label:y":        {{KindLabel, "x"}, {KindLabel, "y"}},
		"urn:1":                          {{KindWord, "urn:1"}},
		`"two words"`:                    {{KindWord, "two words"}},
	} {
		got := Parse(text)
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if again := Parse(got.String()); !slices.Equal(again, got) {
			t.Errorf("%q is written as %q, which is read as %q", text, got.String(), again)
		}
	}
	if n := len(Parse(strings.Repeat("a b c ", 1000) + "label:" + strings.Repeat("x ", 100))); n > mostTerms {
		t.Errorf("a filter has %d terms", n)
	}
	many := ""
	for i := range 100 {
		many += string(rune('a'+i%26)) + strings.Repeat("x", i) + " "
	}
	if n := len(Parse(many)); n != mostTerms {
		t.Errorf("a long filter has %d terms, want %d", n, mostTerms)
	}
}

// TestFilterMatches compares terms with a device.
func TestFilterMatches(t *testing.T) {
	l := &Device{
		Name: "cam-1", Profile: "p", Service: "s", AdminState: "LOCKED", OperatingState: "UP", Labels: []string{"a b"},
		text: "cam-1\np\ns\na b",
	}
	for text, want := range map[string]bool{
		"": true, "CAM p": true, "cam x": false, `label:"a b"`: true, "label:a": false, "profile:p service:s": true, "service:p": false,
		"is:locked": true, "is:up": true, "is:down": false, "is:locked is:up": true, "is:unlocked": false, "is:silent": true,
	} {
		if got := Parse(text).matchDevice(l); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	f := Parse("x label:y")
	if got := f.With(KindIs, "down").Without(Term{KindLabel, "y"}).String(); got != "x is:down" || f.String() != "x label:y" {
		t.Errorf("changed filters: %q, from %q", got, f)
	}
	if f.Words().String() != "x" || f.Chips().String() != "label:y" || !f.Has(KindLabel, "y") || f.Has(KindIs, "down") {
		t.Errorf("the parts of %q: %q and %q", f, f.Words(), f.Chips())
	}
}
