package metadata

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/domain/jsonlimit"
)

const (
	maxYAMLDepth = jsonlimit.Depth
	// maxYAMLKeys bounds one mapping: the library compares each key with each.
	maxYAMLKeys = 1000
	// nodeBytes is what a node counts beside its text, so that many empty ones are bounded too.
	nodeBytes = 4
	// mostExpanded is the longest text that aliases may make of a file, in bytes.
	mostExpanded = 16 << 20
	// nodeEntries is how many entries of JSON a node counts in memory: the library has 160 bytes for each, and its text.
	nodeEntries = 2
)

// mostNodes returns how many nodes a YAML text has at most. An ordinary text has nearly as many. Each scalar, list and mapping begins at the
// start, or behind one of these characters; behind some of them two nodes may begin.
func mostNodes(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case '[', '{', ',', '?':
			n += 2
		case ':', '-':
			if isIndicator(text, i) {
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

// checkNode refuses a document that is too deep, too wide, that contains itself, that has a number beyond a float64, or
// whose aliases expand to more than 16 times most bytes. It also refuses .inf and .nan. It looks at each node once, and returns how many
// nodes there are with those that aliases stand for.
func checkNode(root *yaml.Node, most int64) (nodes int, err error) {
	w := yamlWalk{most: min(16*most, mostExpanded), done: map[*yaml.Node]extent{}}
	e, err := w.measure(root)
	return e.nodes, err
}

// extent is what a node takes when its aliases are followed.
type extent struct {
	bytes int64
	nodes int
	depth int
}

type yamlWalk struct {
	most int64
	// done holds what was measured of nodes with an anchor: no other is met twice. One that is being measured is there with depth 0.
	done map[*yaml.Node]extent
}

func (w *yamlWalk) measure(n *yaml.Node) (extent, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor == "" {
		return w.sum(n)
	}
	if e, ok := w.done[n]; ok {
		if e.depth == 0 {
			return e, domain.Errorf(domain.Invalid, "file: line %d: anchor %.80q contains itself; write the value out", n.Line, n.Anchor)
		}
		return e, nil
	}
	w.done[n] = extent{}
	e, err := w.sum(n)
	w.done[n] = e
	return e, err
}

func (w *yamlWalk) sum(n *yaml.Node) (extent, error) {
	e := extent{bytes: int64(len(n.Value)) + nodeBytes, nodes: 1, depth: 1}
	if err := checkOne(n); err != nil {
		return e, err
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
			return e, domain.Errorf(domain.TooLarge, "file: line %d: the aliases make more than %d bytes of it; use fewer", n.Line, w.most)
		}
		if e.depth > maxYAMLDepth {
			return e, domain.Errorf(domain.Invalid, "file: line %d: is more than %d levels deep; make it flatter", n.Line, maxYAMLDepth)
		}
	}
	return e, nil
}

// checkOne looks at a node without those below it.
func checkOne(n *yaml.Node) error {
	switch {
	case n.Tag == "!!float" && isNoJSON(n.Value):
		return domain.Errorf(domain.Invalid, "file: line %d: %.40s is no number in JSON; write it in quotes, or take it out", n.Line, n.Value)
	case tooLarge(n):
		return domain.Errorf(domain.Invalid, "file: line %d: %s: %.40s; write it in quotes, or smaller",
			n.Line, jsonlimit.TooLarge, n.Value)
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxYAMLKeys:
		return domain.Errorf(domain.Invalid, "file: line %d: a mapping has more than %d keys; give it fewer", n.Line, maxYAMLKeys)
	}
	return nil
}

// isNoJSON reports whether a number of YAML is infinite or none.
func isNoJSON(number string) bool {
	f := strings.ToLower(strings.TrimLeft(number, "+-"))
	return f == ".inf" || f == ".nan"
}

// tooLarge reports whether a scalar without quotes is a number beyond a float64. YAML takes it for a text.
func tooLarge(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Style != 0 || n.Value == "" || !strings.ContainsRune("+-.0123456789", rune(n.Value[0])) {
		return false
	}
	_, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	return errors.Is(err, strconv.ErrRange)
}
