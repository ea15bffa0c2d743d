package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed shared.yaml
var shared []byte

// notice begins each merged document.
const notice = "# Code generated from openapi.yaml and shared.yaml by `make generate`. DO NOT EDIT.\n"

// Document returns own with the paths of shared.yaml and with those of its components that are referred to and not in
// own. Order and comments stay as they are written. A reference to what neither has is an error.
func Document(own []byte) ([]byte, error) {
	d, err := parse(own)
	if err != nil {
		return nil, err
	}
	s, err := parse(shared)
	if err != nil {
		return nil, fmt.Errorf("shared.yaml: %w", err)
	}
	paths := section(d, "paths")
	paths.Content = append(paths.Content, section(s, "paths").Content...)
	expand(d)
	protect(d, s)
	if err := adopt(d, s, d, map[string]bool{}); err != nil {
		return nil, err
	}
	b := bytes.NewBufferString(notice)
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	err = e.Encode(d)
	return b.Bytes(), err
}

func parse(text []byte) (*yaml.Node, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("parse document: %w", err)
	}
	if len(n.Content) != 1 || n.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("the document is not a mapping")
	}
	return n.Content[0], nil
}

// expand writes out what aliases and merge keys stand for: not all readers of OpenAPI know them, Swagger UI among them.
func expand(n *yaml.Node) {
	n.Anchor = ""
	if n.Kind == yaml.MappingNode {
		merge(n)
	}
	for i, c := range n.Content {
		if c.Kind == yaml.AliasNode {
			n.Content[i] = c.Alias
		}
		expand(n.Content[i])
	}
}

// merge puts the pairs of what a merge key has in its place, but those whose key the mapping has itself.
func merge(n *yaml.Node) {
	pairs := n.Content
	n.Content = nil
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].Tag != "!!merge" {
			n.Content = append(n.Content, pairs[i], pairs[i+1])
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		from := pairs[i+1]
		if pairs[i].Tag != "!!merge" {
			continue
		}
		if from.Kind == yaml.AliasNode {
			from = from.Alias
		}
		merge(from)
		for j := 0; j+1 < len(from.Content); j += 2 {
			if value(n, from.Content[j].Value) == nil {
				n.Content = append(n.Content, from.Content[j], from.Content[j+1])
			}
		}
	}
}

// refusals are the answers that every operation has which needs a login.
var refusals = [][2]string{{"401", "Unauthenticated"}, {"403", "Forbidden"}, {"429", "TooMany"}}

// protect says that a login is needed, and what is answered without one, for each operation that does not have security: []. Each
// operation with a body refuses encodings.
func protect(d, s *yaml.Node) {
	bearer := &yaml.Node{Kind: yaml.MappingNode}
	section(bearer, "bearerAuth").Kind = yaml.SequenceNode
	section(d, "security").Kind = yaml.SequenceNode
	value(d, "security").Content = []*yaml.Node{bearer}
	schemes := section(section(d, "components"), "securitySchemes")
	schemes.Content = append(schemes.Content, section(section(s, "components"), "securitySchemes").Content...)
	paths := section(d, "paths")
	for i := 1; i < len(paths.Content); i += 2 {
		for _, operation := range paths.Content[i].Content {
			responses := value(operation, "responses")
			if responses == nil {
				continue
			}
			if value(operation, "requestBody") != nil {
				respond(responses, "415", "UnknownEncoding")
			}
			if value(operation, "security") != nil {
				continue
			}
			for _, r := range refusals {
				respond(responses, r[0], r[1])
			}
		}
	}
}

// respond adds a response, unless there is one of that status: an alias has it already.
func respond(responses *yaml.Node, status, component string) {
	if value(responses, status) == nil {
		responses.Content = append(responses.Content, quoted(status), reference("#/components/responses/"+component))
	}
}

func quoted(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.SingleQuotedStyle, Value: text}
}

func reference(to string) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "$ref"}, quoted(to)}}
}

// adopt takes over from s what the references in n need and d has not.
func adopt(d, s, n *yaml.Node, seen map[string]bool) error {
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Value == "$ref" {
		if ref := n.Content[1].Value; !seen[ref] {
			seen[ref] = true
			return adoptOne(d, s, ref, seen)
		}
		return nil
	}
	for _, c := range n.Content {
		if err := adopt(d, s, c, seen); err != nil {
			return err
		}
	}
	return nil
}

func adoptOne(d, s *yaml.Node, ref string, seen map[string]bool) error {
	at, ours := strings.CutPrefix(ref, "#/components/")
	kind, name, ok := strings.Cut(at, "/")
	if !ours || !ok {
		return fmt.Errorf("reference %q is not of the form #/components/<kind>/<name>", ref)
	}
	kinds := section(section(d, "components"), kind)
	if value(kinds, name) != nil {
		return nil // own components are looked through on their own
	}
	v := value(section(section(s, "components"), kind), name)
	if v == nil {
		return fmt.Errorf("reference %q: neither the document nor shared.yaml has it", ref)
	}
	kinds.Content = append(kinds.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, v)
	return adopt(d, s, v, seen)
}

// section returns the mapping under key, which it makes where there is none.
func section(m *yaml.Node, key string) *yaml.Node {
	if v := value(m, key); v != nil {
		return v
	}
	v := &yaml.Node{Kind: yaml.MappingNode}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
	return v
}

// value returns what is under key in a mapping, or nil.
func value(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}
