package jsonlimit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func nested(open, end string, levels int) string {
	return strings.Repeat(open, levels) + "1" + strings.Repeat(end, levels)
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, text, what string
		offset           int
	}{
		{name: "flat", text: `{"a":[1,-2.5e3,"x",null,true],"b":{}}`},
		{name: "as deep as may be", text: nested(`[`, `]`, Depth)},
		{name: "siblings do not add up", text: "[" + strings.Repeat(nested(`[`, `]`, Depth-1)+",", 100) + "1]"},
		{name: "lists too deep", text: nested(`[`, `]`, Depth+1), what: TooDeep, offset: Depth},
		{name: "objects too deep", text: nested(`{"a":`, `}`, Depth+1), what: TooDeep, offset: 5 * Depth},
		{name: "brackets in a string", text: `"` + strings.Repeat("[", 1000) + `\"` + strings.Repeat("{", 1000) + `"`},
		{name: "the largest number", text: `[1.7976931348623157e308,-1.7976931348623157E+308]`},
		{name: "a tiny number", text: `1e-400`},
		{name: "too large", text: `{"a": 1e400}`, what: TooLarge, offset: 6},
		{name: "too large and negative", text: `[-1E400]`, what: TooLarge, offset: 2},
		{name: "too large without an exponent", text: "[1" + strings.Repeat("0", 309) + "]", what: TooLarge, offset: 1},
		{name: "long, and small", text: "0." + strings.Repeat("1", NumberLength-2)},
		{name: "too long", text: "0." + strings.Repeat("1", NumberLength), what: TooLong},
		{name: "in a string", text: `{"1e400":"1e400"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Check([]byte(tt.text))
			e, ok := errors.AsType[*Error](err)
			if ok != (tt.what != "") || ok && (e.What != tt.what || e.Offset != tt.offset) {
				t.Errorf("got %v, want %q at %d", err, tt.what, tt.offset)
			}
		})
	}
}

// FuzzCheck holds that valid JSON that passes can be decoded into any, float64 included, and that its depth is as said.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[1e308,{"b":"\""}]}`, `1e400`, nested("[", "]", 70), "[1,", `"\`, "-", "1e", "{]}[", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Check(text)
		if !json.Valid(text) {
			return
		}
		var v any
		decoded := json.Unmarshal(text, &v)
		if deep := depth(v) > Depth; err == nil && (decoded != nil || deep) {
			t.Errorf("%q passes, but: %v, too deep %t", text, decoded, deep)
		}
		if err != nil && decoded == nil && depth(v) <= Depth && !strings.Contains(err.Error(), TooLong) && !strings.Contains(string(text), `":`) {
			t.Errorf("%q: got %v", text, err) // a key that is there twice hides a value
		}
	})
}

func depth(v any) (most int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			most = max(most, depth(e))
		}
		return most + 1
	case map[string]any:
		for _, e := range v {
			most = max(most, depth(e))
		}
		return most + 1
	}
	return 0
}
