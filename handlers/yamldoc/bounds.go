package yamldoc

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/domain/jsonlimit"
)

const (
	maxDepth = jsonlimit.Depth
	// MaxKeys bounds one mapping: the library compares each key with each.
	MaxKeys = 1000
	// nodeText is what a node counts beside its text, so that many empty ones are bounded too.
	nodeText = 4
	// mostExpanded is the longest text that aliases may make of a document, in bytes.
	mostExpanded = 16 << 20
	// expandedTimes is how many times as long as its limit it may be.
	expandedTimes = 16
	// nodeBytes is the memory of a node: the library has 160 bytes for each, and the list that it is in.
	nodeBytes = 192
)

// mostNodes returns how many nodes a YAML text has at most. An ordinary text has nearly as many. Each scalar, list and mapping begins at
// the start, or behind one of these characters; behind some of them two nodes may begin. A comment takes as much memory as two nodes.
func mostNodes(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case '[', '{', ',', '?':
			n += 2
		case ':', '-':
			if isIndicator(text, i) {
				n += 2
			}
		case '#':
			if i == 0 || text[i-1] <= ' ' {
				n += 2
			}
		}
	}
	return n + 4
}

// isIndicator reports whether a node may begin behind the colon or hyphen at i. In the midst of a word none does, but behind a colon that
// follows a quote or a bracket one does.
func isIndicator(text []byte, i int) bool {
	if i+1 == len(text) || text[i+1] <= ' ' || text[i+1] >= utf8.RuneSelf || strings.IndexByte(",[]{}", text[i+1]) >= 0 {
		return true // also before line ends beyond ASCII, and in UTF-16
	}
	return text[i] == ':' && i > 0 && strings.IndexByte("\"'}]", text[i-1]) >= 0
}

// checkNode refuses a document that is too deep, too wide, that contains itself, or whose aliases expand to more than most bytes. It looks
// at each node once, and returns how many nodes there are with the nodes that aliases stand for.
func checkNode(root *yaml.Node, most int64) (nodes int, err error) {
	w := walk{most: most, done: map[*yaml.Node]extent{}}
	e, err := w.measure(root)
	return e.nodes, err
}

// extent is what a node takes when its aliases are followed.
type extent struct {
	bytes int64
	nodes int
	depth int
}

type walk struct {
	most int64
	// done holds the extents of nodes with an anchor: no other is met twice. One that is being measured is there with depth 0.
	done map[*yaml.Node]extent
}

func (w *walk) measure(n *yaml.Node) (extent, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor == "" {
		return w.sum(n)
	}
	if e, ok := w.done[n]; ok {
		if e.depth == 0 {
			return e, domain.Errorf(domain.Invalid, "line %d: anchor %.80q contains itself; write the value out", n.Line, n.Anchor)
		}
		return e, nil
	}
	w.done[n] = extent{}
	e, err := w.sum(n)
	w.done[n] = e
	return e, err
}

func (w *walk) sum(n *yaml.Node) (extent, error) {
	e := extent{bytes: int64(len(n.Value)) + nodeText, nodes: 1, depth: 1}
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*MaxKeys {
		return e, domain.Errorf(domain.Invalid, "line %d: a mapping has more than %d keys; give it fewer", n.Line, MaxKeys)
	}
	for _, child := range n.Content {
		c, err := w.measure(child)
		if err != nil {
			return e, err
		}
		e.bytes += c.bytes
		e.nodes += c.nodes
		e.depth = max(e.depth, c.depth+1)
		if e.bytes > w.most {
			return e, domain.Errorf(domain.TooLarge, "line %d: the aliases make more than %d bytes of it; use fewer", n.Line, w.most)
		}
		if e.depth > maxDepth {
			return e, domain.Errorf(domain.Invalid, "line %d: is more than %d levels deep; make it flatter", n.Line, maxDepth)
		}
	}
	return e, nil
}
