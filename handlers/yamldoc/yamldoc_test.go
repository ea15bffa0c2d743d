package yamldoc

import (
	"errors"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestUnmarshal(t *testing.T) {
	for text, second := range map[string]int{
		"": 0, "# nothing\n": 0, "a: 1": 0, "a: 1\n...\n": 0, "a: 1\n---\n": 0, "# c\n---\na: 1\n---\n# the end\n": 0, "{\"a\": 1}": 0,
		"a: 1\n---\nb: 2\n":                 3,
		"---\na: 1\n---\n- b\n":             4,
		"---\n---\na: 1":                    3,
		"a: 1\n---\n---\n---\nb: 2":         4,
		"a: 1\n---\nb: [\n":                 3, // where the library finds the fault
		"%YAML 1.1\n---\na: 1\n...\nb: 1\n": 5,
		"{\"a\": 1}\n{\"b\": 2}\n":          2,
		"[a]\n\n{\"b\": 2}":                 3,
		"{\"a\": 1} x":                      1,
	} {
		var document yaml.Node
		err := Unmarshal([]byte(text), &document)
		got := 0
		if e, ok := errors.AsType[*SecondError](err); ok {
			got = e.Line
		} else if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got != second {
			t.Errorf("%q: got a second document in line %d, want %d", text, got, second)
		}
	}
	var v any
	if err := Unmarshal([]byte("a: [1"), &v); err == nil || errors.As(err, new(*SecondError)) {
		t.Errorf("no YAML: got %v", err)
	}
	if err := Unmarshal([]byte("a: 1"), &v); err != nil || v.(map[string]any)["a"] != 1 {
		t.Errorf("got %v, %v", v, err)
	}
}
