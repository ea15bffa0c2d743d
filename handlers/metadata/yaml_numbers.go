package metadata

import (
	"errors"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/domain/jsonlimit"
)

// checkNumbers refuses .inf, .nan and numbers beyond a float64: JSON cannot say them. An alias has been looked at where its anchor is.
func checkNumbers(n *yaml.Node) error {
	switch {
	case n.Tag == "!!float" && isNoJSON(n.Value):
		return domain.Errorf(domain.Invalid, "line %d: %.40s is not a number in JSON; write it in quotes, or take it out", n.Line, n.Value)
	case tooLarge(n):
		return domain.Errorf(domain.Invalid, "line %d: %s: %.40s; write it in quotes, or smaller", n.Line, jsonlimit.TooLarge, n.Value)
	}
	for _, child := range n.Content {
		if err := checkNumbers(child); err != nil {
			return err
		}
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
