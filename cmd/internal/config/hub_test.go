package config

import (
	"os"
	"strings"
	"testing"
)

// TestNodeName holds the sources of the name of a node, and refuses names.
func TestNodeName(t *testing.T) {
	machine, _ := os.Hostname()
	const hub = "--hub-url=tls://edge-1@hub.example:7422"
	for _, tt := range []struct {
		flags      []string
		node, says string
	}{
		{nil, machine, ""},
		{[]string{hub}, "edge-1", ""},
		{[]string{"--node-name=Hall 2"}, "Hall 2", ""},
		{[]string{hub, "--node-name=edge-1"}, "edge-1", ""},
		{[]string{hub, "--node-name=Hall 2"}, "", "hub-url names this node edge-1"},
		{[]string{"--node-name=a\nb"}, "", "use at most 64 characters on one line"},
		{[]string{"--node-name=" + strings.Repeat("ü", 65)}, "", "use at most 64 characters on one line"},
	} {
		c := Default()
		if err := c.declared.Parse(tt.flags); err != nil {
			t.Fatal(err)
		}
		err := c.check()
		if tt.says == "" && (err != nil || FindNodeName(c) != tt.node) || tt.says != "" && !strings.Contains(textOf(err), tt.says) {
			t.Errorf("%q: %q, %v; want %q, %s", tt.flags, FindNodeName(c), err, tt.node, tt.says)
		}
	}
}
