package domain

import (
	"strings"
	"testing"
)

func TestHops(t *testing.T) {
	const a, b = "0123456789abcdef", "fedcba9876543210"
	for text, want := range map[string]string{"": "", a: a, " " + a + " , " + b: a + "," + b, "x," + a + ",0123456789ABCDEF": a} {
		if got := ParseHops(text).String(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct {
		h    Hops
		want bool
	}{{nil, false}, {Hops{a}, false}, {Hops{a, b}, false}, {Hops{a, b, a}, true}, {Hops{b, b, b}, false}, {ParseHops(strings.Repeat(b+",", 16)), false}, {ParseHops(strings.Repeat(b+",", 100)), true}} {
		if got := c.h.Loops(a); got != c.want {
			t.Errorf("%v: got %v", c.h, got)
		}
	}
	for _, c := range []struct {
		correlation string
		h           Hops
	}{{"c-1", nil}, {"c-1", Hops{a}}, {"c via x", Hops{a, b}}, {"", Hops{b}}} {
		id, h := CutHops(c.h.Behind(c.correlation))
		if id != c.correlation || h.String() != c.h.String() {
			t.Errorf("%+v: got %q, %v", c, id, h)
		}
	}
	if id, h := CutHops("by train via Bern"); id != "by train via Bern" || h != nil {
		t.Errorf("got %q, %v", id, h)
	}
}
