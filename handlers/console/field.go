package console

import (
	"fmt"
	"strings"
)

// field is one input of a form, with its label and what is wrong with it. See the template of the same name.
type field struct {
	Name, Label, Value string
	// Type is that of the input, or textarea, or select, which has Options.
	Type     string
	Required bool
	Error    string
	Hint     string
	// Options are those of a select, or suggestions for an input.
	Options []option
	// Autocomplete is the attribute of the same name.
	Autocomplete string
}

// ID is that of the input in the page.
func (f field) ID() string {
	return "f-" + strings.NewReplacer("[", "-", "]", "-", ".", "-").Replace(f.Name)
}

// Described are the ids of what explains the input.
func (f field) Described() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

type option struct {
	Value, Label string
}

func options(values ...string) []option {
	all := make([]option, len(values))
	for i, v := range values {
		all[i] = option{v, v}
	}
	return all
}

// newField makes a field for the templates: more has pairs of an attribute's name and its value.
func newField(name, label, value string, more ...any) (f field, err error) {
	f = field{Name: name, Label: label, Value: value, Type: "text"}
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
			f.Options, _ = more[i+1].([]option)
		default:
			return f, fmt.Errorf("field %s: %v is no attribute", name, more[i])
		}
	}
	return f, nil
}
