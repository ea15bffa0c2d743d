// Package profileyaml writes a device profile as YAML, and finds the line and column of an error message.
package profileyaml

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/handlers/shapes/v2"
	"ledge/handlers/yamldoc"
)

// Fault is an error in a YAML text at a line and, if known, a column; both count from 1.
type Fault struct {
	Line, Column int
	Text, What   string
}

const (
	// nodeBytes is the memory that a value takes while it is encoded and shown, measured for a list of numbers.
	nodeBytes = 640
	// resourceNodes is how many keys and values a resource has, commandNodes and operationNodes likewise, without attributes and mappings.
	resourceNodes, commandNodes, operationNodes = 48, 10, 8
)

// Bytes returns how much memory [Encode] takes at most, and the page that shows its text, in bytes.
func Bytes(p domain.Profile) int64 {
	nodes := len(p.Labels) + resourceNodes
	for _, r := range p.DeviceResources {
		nodes += resourceNodes + nodesOf(r.Attributes)
	}
	for _, c := range p.DeviceCommands {
		nodes += commandNodes
		for _, o := range c.ResourceOperations {
			nodes += operationNodes + 2*len(o.Mappings)
		}
	}
	return nodeBytes * int64(nodes)
}

func nodesOf(v any) (nodes int) {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			nodes += 1 + nodesOf(one)
		}
	case []any:
		for _, one := range v {
			nodes += nodesOf(one)
		}
	}
	return nodes + 1
}

// Encode writes a profile as YAML without the fields that are empty.
func Encode(p domain.Profile) (string, error) {
	var n yaml.Node
	if err := n.Encode(v2.OfProfile(p)); err != nil {
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

// nameLine finds the name of a profile that is written in the usual way: at the beginning of a line, in plain letters.
var nameLine = regexp.MustCompile(`(?m)^(?:name|"name"|'name')[ \t]*:[ \t]+(?:"([\w.:;=~-]+)"|'([\w.:;=~-]+)'|([\w.:;=~-]+))[ \t]*(?:#.*)?\r?$`)

// Name returns the name of the profile in a text of at most most bytes; "" if it has none. It parses the text only if no line has the name
// as people write it; hold takes memory for that, in bytes.
func Name(text []byte, most int64, hold func(bytes int64) error) string {
	if m := nameLine.FindSubmatch(text); m != nil {
		return string(slices.Concat(m[1], m[2], m[3]))
	}
	root, err := yamldoc.Parse(text, most, hold)
	if err != nil || root == nil { // the service says what is wrong with it
		return ""
	}
	if name := child(root, "name"); name != nil {
		return name.Value
	}
	return ""
}

var (
	lineIn = regexp.MustCompile(`line (\d+)(?:, column (\d+))?: `)
	pathIn = regexp.MustCompile(`file\.([A-Za-z0-9_.\[\]]+): `)
)

const (
	// mostFaults bounds the errors that a page shows by line.
	mostFaults = 50
	// mostLine is how much of a line it shows, in bytes.
	mostLine = 300
)

// Faults finds the lines and columns of the errors in a service's message about a text of at most most bytes. It parses the text only if an
// error has a path in place of a line; hold takes memory for that, in bytes.
func Faults(text []byte, message string, most int64, hold func(bytes int64) error) (faults []Fault) {
	root := sync.OnceValue(func() *yaml.Node {
		root, _ := yamldoc.Parse(text, most, hold) // if it is not YAML, the message has the line
		return root
	})
	for one := range strings.SplitSeq(message, "; ") {
		f := Fault{What: one}
		if m := lineIn.FindStringSubmatch(one); m != nil {
			f.Line, _ = strconv.Atoi(m[1])
			f.Column, _ = strconv.Atoi(m[2])
		} else if m := pathIn.FindStringSubmatch(one); m != nil && root() != nil {
			f.Line, f.Column = place(root(), m[1])
		}
		line, ok := lineAt(text, f.Line)
		if !ok || len(faults) >= mostFaults {
			continue
		}
		f.Text = strings.ToValidUTF8(string(line[:min(len(line), mostLine)]), "")
		if f.Column == 0 {
			f.Column = len(line) - len(bytes.TrimLeft(line, " \t")) + 1
		}
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Line - b.Line })
	return faults
}

// lineAt returns a line of a text, which counts from 1; ok is false if there is no such line.
func lineAt(text []byte, line int) (found []byte, ok bool) {
	for ; line > 1; line-- {
		if _, text, ok = bytes.Cut(text, []byte("\n")); !ok {
			return nil, false
		}
	}
	found, _, _ = bytes.Cut(text, []byte("\n"))
	return bytes.TrimRight(found, "\r"), line == 1
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
