package yamldoc

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// Parse returns the root of a client's text, nil if the text is empty or has nothing but comments. Before the library makes nodes, Parse
// counts them and asks hold for their memory, in bytes; hold keeps it for as long as the nodes are in use. A text has at most most bytes:
// its aliases may expand to min(16*most, 16 MiB). An error of hold is returned as it is. A document that is too deep or too wide, or that
// contains itself, is refused with a domain Error whose message begins with the line.
func Parse(text []byte, most int64, hold func(bytes int64) error) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil { // the library promises none
			err = fmt.Errorf("%v", p)
		}
	}()
	held := mostNodes(text)
	if err := hold(nodeBytes * int64(held)); err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	root = document.Content[0]
	nodes, err := checkNode(root, min(expandedTimes*most, mostExpanded))
	if err != nil {
		return nil, err
	}
	if nodes > held { // aliases
		return root, hold(nodeBytes * int64(nodes-held))
	}
	return root, nil
}

// Decode decodes a client's text into v, as [Parse] does. It leaves v as it is if the text is empty.
func Decode(text []byte, most int64, hold func(bytes int64) error, v any) (err error) {
	root, err := Parse(text, most, hold)
	if err != nil || root == nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return root.Decode(v)
}

// Readable returns the message of an error of the library, with its lines and without the names of Go.
func Readable(err error) string {
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n ", "")
}
