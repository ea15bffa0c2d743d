// Package profileyaml writes a device profile as YAML, and finds the line and column of an error message.
package profileyaml

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/handlers/shapes"
)

// Fault is an error in a YAML text at a line and, if known, a column; both count from 1.
type Fault struct {
	Line, Column int
	Text, What   string
}

// Encode writes a profile as YAML without the fields that are empty.
func Encode(p domain.Profile) (string, error) {
	var n yaml.Node
	if err := n.Encode(shapes.OfProfile(p)); err != nil {
		return "", err
	}
	prune(&n)
	text, err := yaml.Marshal(&n)
	return string(text), err
}

// prune removes empty fields. Below attributes and mappings the user has chosen each field.
func prune(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		for _, below := range n.Content {
			prune(below)
		}
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value != "attributes" && key.Value != "mappings" {
			prune(value)
		}
		if !emptyNode(value) {
			kept = append(kept, key, value)
		}
	}
	n.Content = kept
}

func emptyNode(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode {
		return n.Value == "" || n.Tag == "!!null" || n.Tag == "!!bool" && n.Value == "false"
	}
	return len(n.Content) == 0
}

// mostText is the longest text that is looked at here, in bytes: the library takes many times as much memory.
const mostText = 1 << 20

var nameLine = regexp.MustCompile(`(?m)^["']?name["']?:[ \t]*["']?([^"'\s#]+)`)

// Name is the name of the profile in a text; "" if it has none.
func Name(text string) string {
	if len(text) > mostText {
		if m := nameLine.FindStringSubmatch(text); m != nil {
			return m[1]
		}
		return ""
	}
	var d struct {
		Name string `yaml:"name"`
	}
	_ = yaml.Unmarshal([]byte(text), &d) // the service says what is wrong with it
	return d.Name
}

var (
	lineIn = regexp.MustCompile(`line (\d+)(?:, column (\d+))?: `)
	pathIn = regexp.MustCompile(`file\.([A-Za-z0-9_.\[\]]+): `)
)

// mostFaults bounds the errors that a page shows by line.
const mostFaults = 50

// Faults finds the lines and columns of the errors in a service's message about a text.
func Faults(text, message string) (faults []Fault) {
	lines := strings.Split(text, "\n")
	var root yaml.Node
	if len(text) <= mostText {
		_ = yaml.Unmarshal([]byte(text), &root) // if it is not YAML, the message has the line
	}
	for _, one := range strings.Split(message, "; ") {
		f := Fault{What: one}
		if m := lineIn.FindStringSubmatch(one); m != nil {
			f.Line, _ = strconv.Atoi(m[1])
			f.Column, _ = strconv.Atoi(m[2])
		} else if m := pathIn.FindStringSubmatch(one); m != nil && len(root.Content) > 0 {
			f.Line, f.Column = place(root.Content[0], m[1])
		}
		if f.Line < 1 || f.Line > len(lines) || len(faults) >= mostFaults {
			continue
		}
		f.Text = strings.TrimRight(lines[f.Line-1], "\r")
		if f.Column == 0 {
			f.Column = len(f.Text) - len(strings.TrimLeft(f.Text, " \t")) + 1
		}
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Line - b.Line })
	return faults
}

// place is the line and column of the deepest node on a path such as deviceResources[0].name.
func place(n *yaml.Node, path string) (line, column int) {
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		below := child(n, key)
		if below == nil {
			break
		}
		n = below
	}
	return n.Line, n.Column
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
		return nil
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
	}
	return nil
}
