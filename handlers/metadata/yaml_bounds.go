package metadata

import (
	"errors"
	"strconv"
	"strings"

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
)

// checkNode refuses a document that is too deep, too wide, that contains itself, that has a number beyond a float64, or
// whose aliases expand to more than 16 times most bytes. It also refuses .inf and .nan. It looks at each node once.
func checkNode(root *yaml.Node, most int64) error {
	w := yamlWalk{most: 16 * most, done: map[*yaml.Node]extent{}}
	_, err := w.measure(root)
	return err
}

// extent is what a node takes when its aliases are followed.
type extent struct {
	bytes int64
	depth int
}

type yamlWalk struct {
	most int64
	// done holds what was measured; a node that is being measured is there with depth 0.
	done map[*yaml.Node]extent
}

func (w *yamlWalk) measure(n *yaml.Node) (extent, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if e, ok := w.done[n]; ok {
		if e.depth == 0 {
			return e, domain.Errorf(domain.Invalid, "file: line %d: anchor %.80q contains itself; write the value out", n.Line, n.Anchor)
		}
		return e, nil
	}
	w.done[n] = extent{}
	if n.Tag == "!!float" && isNoJSON(n.Value) {
		return extent{}, domain.Errorf(domain.Invalid, "file: line %d: %.40s is no number in JSON; write it in quotes, or take it out", n.Line, n.Value)
	}
	if tooLarge(n) {
		return extent{}, domain.Errorf(domain.Invalid, "file: line %d: %s: %.40s; write it in quotes, or smaller", n.Line, jsonlimit.TooLarge, n.Value)
	}
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxYAMLKeys {
		return extent{}, domain.Errorf(domain.Invalid, "file: line %d: a mapping has more than %d keys; give it fewer", n.Line, maxYAMLKeys)
	}
	e, err := w.sum(n)
	w.done[n] = e
	return e, err
}

func (w *yamlWalk) sum(n *yaml.Node) (extent, error) {
	e := extent{bytes: int64(len(n.Value)) + nodeBytes, depth: 1}
	for _, child := range n.Content {
		c, err := w.measure(child)
		if err != nil {
			return e, err
		}
		e.bytes += c.bytes
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
