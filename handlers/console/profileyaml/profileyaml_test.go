package profileyaml

import (
	"errors"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/handlers/shapes/v2"
)

const most = 1 << 20

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"name: cam": "cam", "a: 1\r\nname: \"cam-1\" # it\r\n": "cam-1", "'name': 'a.b:c'": "a.b:c", "manufacturer: x\n": "", "x:\n  name: below\n": "",
		"{manufacturer: x, name: flow}": "flow", "  name: indented\n": "indented", "name: &n anchor": "anchor", "name: [": "", "": "",
	} {
		if got := Name([]byte(text), most, func(int64) error { return nil }); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := Name([]byte("name: cam\nx: ["), most, func(int64) error { t.Error("a text is parsed whose name is in a line"); return nil }); got != "cam" {
		t.Errorf("got %q", got)
	}
}

func TestFaults(t *testing.T) {
	const text = "name: a\r\nlabels:\n  - b\ndeviceResources:\n- {name: r}\n"
	none := errors.New("there is no memory")
	for message, want := range map[string]Fault{
		"file: line 3: found a list": {Line: 3, Column: 3, Text: "  - b"}, "file: line 1, column 4: x": {Line: 1, Column: 4, Text: "name: a"}, "file.deviceResources[0].name: is too long": {Line: 5, Column: 10, Text: "- {name: r}"},
	} {
		want.What = message
		got := Faults([]byte(text), message+"; file: line 9: is not there", most, func(int64) error { return nil })
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %+v, want %+v", message, got, want)
		}
		if got := Faults([]byte(text), message, most, func(int64) error { return none }); (len(got) == 1) != strings.Contains(message, "line") {
			t.Errorf("%s, without memory: got %+v", message, got)
		}
	}
	if got := Faults([]byte(strings.Repeat("x", 1000)), "line 1: is wrong", most, nil); len(got) != 1 || len(got[0].Text) != mostLine {
		t.Errorf("a long line: got %+v", got)
	}
}

// TestBytes holds that the memory of a profile's YAML counts all its keys and values.
func TestBytes(t *testing.T) {
	attributes := map[string]any{"a": []any{1, 2.5, "x", nil}, "b": map[string]any{"c": true}}
	p := domain.Profile{Name: "p", Labels: []string{"l"}, DeviceResources: []domain.DeviceResource{{Name: "r", Attributes: attributes}, {Name: "s"}},
		DeviceCommands: []domain.DeviceCommand{{Name: "c", ResourceOperations: []domain.ResourceOperation{{DeviceResource: "r", Mappings: map[string]string{"a": "b"}}}}}}
	var n yaml.Node
	if err := n.Encode(v2.OfProfile(p)); err != nil {
		t.Fatal(err)
	}
	nodes := int64(0)
	var count func(*yaml.Node)
	count = func(n *yaml.Node) {
		nodes++
		for _, below := range n.Content {
			count(below)
		}
	}
	count(&n)
	if got := Bytes(p); got < nodes*nodeBytes || got > 2*nodes*nodeBytes {
		t.Errorf("%d bytes for %d nodes, want %d and not twice as many", got, nodes, nodes*nodeBytes)
	}
}
