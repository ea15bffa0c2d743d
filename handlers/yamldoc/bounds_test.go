package yamldoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"ledge/domain"
)

// countNodes counts the nodes of a text, 0 if it is not YAML.
func countNodes(text []byte) (n int) {
	defer func() { _ = recover() }()
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return 0
	}
	var count func(*yaml.Node)
	count = func(node *yaml.Node) {
		n++
		for _, c := range node.Content {
			count(c)
		}
	}
	count(&root)
	return n
}

var texts = []string{
	"", "a", "a:", "- a\n- b: c\n  d:\n- - - e\n", "[a,b,[c],{d,e: f},g: h]", "{[a]: b, \"c\":d, 'e':f, ? g : h}", "? a\n? b\n: - c\n", "- ? a\n- -\n-", "a: &x {<<: *x}",
	"{,}", "[,]", "{a,b,c}", "[[],[],{}]", "--- a\n...\n--- b\n", "a: |\n  b: c\n  - d\n", "- !!map\n  ? a\n  : b\n", "{{a}:b}", "[a:b]", "[\"a\":b]", "a:\u0085 b: c\n", "\xff\xfe[\x00a\x00,\x00b\x00:\x00 \x00c\x00]\x00", "\xfe\xff\x00a\x00:\x00 \x00b",
}

// TestMostNodes holds that the memory for the nodes of a text is known before the library makes them.
func TestMostNodes(t *testing.T) {
	for _, text := range texts {
		if got, nodes := mostNodes([]byte(text)), countNodes([]byte(text)); got < nodes {
			t.Errorf("%q: at most %d nodes, but it has %d", text, got, nodes)
		}
	}
	ordinary := "deviceResources:\n" + strings.Repeat("- name: r\n  properties:\n    valueType: Int16\n    readWrite: RW\n  attributes: {nodeId: \"ns=2;s=a-b-c:d\"}\n", 1000)
	if got, nodes := mostNodes([]byte(ordinary)), countNodes([]byte(ordinary)); got > nodes*5/4 {
		t.Errorf("at most %d nodes, and it has %d", got, nodes)
	}
}

func FuzzMostNodes(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, nodes := mostNodes(text), countNodes(text); got < nodes {
			t.Errorf("%q: at most %d nodes, but it has %d", text, got, nodes)
		}
	})
}

// TestParse holds the limits of a client's text, and that its memory is held before the library makes anything of it.
func TestParse(t *testing.T) {
	var keys strings.Builder
	for i := range MaxKeys + 1 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for text, code := range map[string]domain.Code{
		"x: &x [*x]":                     domain.Invalid,
		strings.Repeat("- ", maxDepth+1): domain.Invalid,
		keys.String():                    domain.Invalid,
		"x: &x " + strings.Repeat("y", 1000) + "\nz: [" + strings.Repeat("*x,", 100) + "]": domain.TooLarge,
	} {
		root, err := Parse([]byte(text), 2000, func(int64) error { return nil })
		if root != nil || domain.CodeOf(err) != code {
			t.Errorf("%.40q: got %v, %v, want %v", text, root, err, code)
		}
	}
	full := errors.New("there is no memory")
	if _, err := Parse([]byte("a: ["), 100, func(int64) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want that nothing is parsed without memory", err)
	}
	held := int64(0)
	if _, err := Parse([]byte(strings.Repeat("- #\n", 100)), 1000, func(n int64) error { held = n; return nil }); err != nil || held < 100*568 {
		t.Errorf("got %v; %d bytes are held for 100 entries with comments, which take 568 each", err, held)
	}
	held = 0
	root, err := Parse([]byte("x: &x [a, b]\ny: ["+strings.Repeat("*x,", 100)+"]"), 10_000, func(n int64) error { held += n; return nil })
	if err != nil || root == nil || held < 300*nodeBytes {
		t.Errorf("got %v, %v; %d bytes are held, want those of the aliases too", root, err, held)
	}
}
