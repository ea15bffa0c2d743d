package entityfile

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"ledge/domain"
	"ledge/handlers/yamldoc"
)

// parseTOML reads TOML, as the device lists of EdgeX 2.x are. The library's decoder checks it and forgets how values are written; its parser
// knows. The parser goes first, because the decoder compares each key of a table with each.
func parseTOML(text []byte, hold Hold) (any, error) {
	signs := int64(0)
	for _, c := range text {
		switch c {
		case ',', '{', '[', '.', '=':
			signs++
		}
	}
	if err := hold(tomlSign * signs); err != nil {
		return nil, err
	}
	root := map[string]any{}
	at := root
	p := unstable.Parser{}
	p.Reset(text)
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			at = tableAt(root, keysOf(e))
		case unstable.ArrayTable:
			at = addTable(root, keysOf(e))
		case unstable.KeyValue:
			setTOML(at, e)
		}
	}
	if _, wide := isBeyond(root, maxDepth); wide {
		return nil, domain.Errorf(domain.Invalid, "A table of the TOML has more than %d keys. Give it fewer.", yamldoc.MaxKeys)
	}
	var checked map[string]any
	err := toml.Unmarshal(text, &checked)
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := e.Position()
		return nil, domain.Errorf(domain.Invalid, "The text is not TOML: line %d, column %d: %s", line, column, strings.TrimPrefix(e.Error(), "toml: "))
	}
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "The text is not TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	return root, nil
}

func keysOf(n *unstable.Node) (keys []string) {
	for it := n.Key(); it.Next(); {
		keys = append(keys, string(it.Node().Data))
	}
	return keys
}

// tableAt returns the table at a path: in a list the last one. It makes those that are missing.
func tableAt(t map[string]any, path []string) map[string]any {
	for _, key := range path {
		switch v := t[key].(type) {
		case map[string]any:
			t = v
			continue
		case []any:
			if n := len(v); n > 0 {
				if last, ok := v[n-1].(map[string]any); ok {
					t = last
					continue
				}
			}
		}
		next := map[string]any{}
		t[key], t = next, next
	}
	return t
}

// addTable appends a table to the list at a path.
func addTable(root map[string]any, path []string) map[string]any {
	parent, key, next := tableAt(root, path[:len(path)-1]), path[len(path)-1], map[string]any{}
	list, _ := parent[key].([]any)
	parent[key] = append(list, next)
	return next
}

func setTOML(t map[string]any, e *unstable.Node) {
	path := keysOf(e)
	tableAt(t, path[:len(path)-1])[path[len(path)-1]] = tomlValue(e.Value())
}

func tomlValue(n *unstable.Node) any {
	switch n.Kind {
	case unstable.String:
		return string(n.Data)
	case unstable.Array:
		list := []any{}
		for it := n.Children(); it.Next(); {
			if one := it.Node(); one.Kind != unstable.Comment {
				list = append(list, tomlValue(one))
			}
		}
		return list
	case unstable.InlineTable:
		object := map[string]any{}
		for it := n.Children(); it.Next(); {
			if one := it.Node(); one.Kind == unstable.KeyValue {
				setTOML(object, one)
			}
		}
		return object
	}
	return literal(n.Data)
}
