package web

import (
	"fmt"
	"strings"

	"ledge/domain"
)

// Field is one input of a form, with its label and what is wrong with it. See the template of the same name.
type Field struct {
	Name, Label, Value string
	// Type is that of the input, or textarea, or select, which has Options.
	Type     string
	Required bool
	Error    string
	Hint     string
	// Options are those of a select, or suggestions for an input.
	Options []Option
	// Autocomplete is the attribute of the same name.
	Autocomplete string
	// More says that the input is shown on demand.
	More bool
}

// inputID returns the id of an input in the page.
func inputID(name string) string {
	return "f-" + strings.NewReplacer("[", "-", "]", "-", ".", "-").Replace(name)
}

// Option is a value to choose, with its label.
type Option struct {
	Value, Label string
}

// OptionsOf returns options that are labelled by their values.
func OptionsOf(values ...string) []Option {
	all := make([]Option, len(values))
	for i, v := range values {
		all[i] = Option{v, v}
	}
	return all
}

// Labelled returns options from pairs of a value and its label.
func Labelled(pairs ...string) []Option {
	all := make([]Option, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, Option{pairs[i], pairs[i+1]})
	}
	return all
}

// newField makes a field for the templates: more has pairs of an attribute's name and its value.
func newField(name, label, value string, more ...any) (f Field, err error) {
	f = Field{Name: name, Label: label, Value: value, Type: "text"}
	for i := 0; i+1 < len(more); i += 2 {
		text, _ := more[i+1].(string)
		switch more[i] {
		case "type":
			f.Type = text
		case "error":
			f.Error = text
		case "hint":
			f.Hint = text
		case "autocomplete":
			f.Autocomplete = text
		case "required":
			f.Required, _ = more[i+1].(bool)
		case "options":
			f.Options, _ = more[i+1].([]Option)
		default:
			return f, fmt.Errorf("field %s: %v is not an attribute", name, more[i])
		}
	}
	return f, nil
}

// LockOptions are the admin states to choose from.
func LockOptions() []Option {
	return []Option{{domain.StateUnlocked, "UNLOCKED: in use"}, {domain.StateLocked, "LOCKED: not in use"}}
}

// SplitLabels reads labels that are separated by commas or lines.
func SplitLabels(text string) []string {
	labels := []string{}
	for _, l := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if l = strings.TrimSpace(l); l != "" {
			labels = append(labels, l)
		}
	}
	return labels
}
