package web

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// Input describes one input of a form about an entity S. It is for the field of S with its name in JSON. The Value of the Field is the text
// for a new entity.
type Input[S any] struct {
	Field
	// Path is the field that the errors of the input are about; "": the name of the input.
	Path string
	// New says that only the form of a new entity has the input.
	New bool
	// Exact keeps white space around the text.
	Exact bool
	// Optional leaves an empty text or list out of the request.
	Optional bool
	// Of returns the text for an entity; nil: the text of the field. Labels are separated by commas. A mapping has lines such as
	// address=10\..*
	Of func(*S) string
	// Parse returns the value of a text in a request; nil: the value that Of has made the text of. hold takes memory, in bytes.
	Parse func(text string, hold func(bytes int64) error) (any, error)
}

// Inputs are the inputs of a form. Each is listed once for reading, showing and sending.
type Inputs[S any] []Input[S]

// Form is an entity as its user has entered it.
type Form struct {
	// Old is the name of the entity that is edited, Revision its revision; empty for a new one.
	Old, Revision string
	Texts         map[string]string // by the names of inputs
	Problems      Problems
	// Fields are set by Inputs.Show. MoreOpen says that one of them that is shown on demand has an error.
	Fields   []Field
	MoreOpen bool
	// Extra is shown beside the form.
	Extra any
	// Path is that of the list, One the kind of entity, and Confirm the end of the question before one is deleted; "": that is not possible.
	Path, One, Confirm string
}

// New reports whether the form adds an entity.
func (f *Form) New() bool { return f.Old == "" }

// Field returns a field by its name.
func (f *Form) Field(name string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return &Field{Name: name}
}

// Blank returns the form of a new entity.
func (list Inputs[S]) Blank() *Form {
	f := &Form{Texts: map[string]string{}}
	for _, one := range list {
		f.Texts[one.Name] = one.Value
	}
	return f
}

// Read reads the form of a request. old is the name of the entity that is edited; "" for a new one.
func (list Inputs[S]) Read(c *gin.Context, old string) *Form {
	f := &Form{Old: old, Revision: c.PostForm("revision"), Texts: map[string]string{}}
	for _, one := range list {
		text := c.PostForm(one.Name)
		if !one.Exact {
			text = strings.TrimSpace(text)
		}
		if one.New && old != "" {
			text = old
		}
		f.Texts[one.Name] = text
	}
	return f
}

// FormOf returns the form of an entity.
func (list Inputs[S]) FormOf(s *S, name string, revision uint64) *Form {
	f := &Form{Old: name, Revision: strconv.FormatUint(revision, 10), Texts: map[string]string{}}
	for _, one := range list {
		if one.Of != nil {
			f.Texts[one.Name] = one.Of(s)
		} else {
			f.Texts[one.Name] = textOfField(fieldOf(*s, one.Name))
		}
	}
	return f
}

// Labels returns the labels of the inputs, by the fields that their errors are about.
func (list Inputs[S]) Labels() (labels Labels) {
	for _, one := range list {
		labels = append(labels, Label{cmp.Or(one.Path, one.Name), one.Label})
	}
	return labels
}

// Values returns the fields of the request of a form. It notes a problem for each text that cannot be read.
func (list Inputs[S]) Values(f *Form, hold func(bytes int64) error) map[string]any {
	fields := map[string]any{}
	for _, one := range list {
		text := f.Texts[one.Name]
		if one.Parse != nil {
			value, err := one.Parse(text, hold)
			if fields[one.Name] = value; err != nil {
				f.Problems.Add(one.Name, err.Error())
			}
			continue
		}
		value := parseField(fieldOf(*new(S), one.Name), text)
		if value == nil && text != "" {
			f.Problems.Add(cmp.Or(one.Path, one.Name), fmt.Sprintf("Write a whole number, such as 3, in place of %.40q.", text))
		}
		list, isList := value.([]string)
		if empty := value == "" || isList && len(list) == 0; value == nil || empty && one.Optional {
			continue
		}
		fields[one.Name] = value
	}
	return fields
}

// Show sets the fields of a form.
func (list Inputs[S]) Show(f *Form) {
	for _, one := range list {
		if one.New && !f.New() {
			continue
		}
		field, path := one.Field, cmp.Or(one.Path, one.Name)
		field.Type = cmp.Or(field.Type, "text")
		if field.Value, field.Error = f.Texts[one.Name], f.Problems.Of(path, one.Label); field.Type == "password" {
			field.Value = ""
		}
		f.Fields = append(f.Fields, field)
		f.MoreOpen = f.MoreOpen || field.More && field.Error != ""
	}
}

// fieldOf returns the field of an entity with a name in JSON.
func fieldOf(s any, name string) any {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); key == name {
			return v.Field(i).Interface()
		}
	}
	panic(fmt.Sprintf("%T has no field %s", s, name))
}

// textOfField returns a value as people write it.
func textOfField(value any) string {
	var lines []string
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ", ")
	case int:
		if v == 0 {
			return ""
		}
		return strconv.Itoa(v)
	case map[string]string:
		for property, one := range v {
			lines = append(lines, property+"="+one)
		}
	case map[string][]string:
		for property, list := range v {
			for _, one := range list {
				lines = append(lines, property+"="+one)
			}
		}
	default:
		return fmt.Sprint(v)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// parseField is the reverse of textOfField, for a value of the type of like. It returns nil for a number that cannot be read.
func parseField(like any, text string) any {
	switch like.(type) {
	case []string:
		return SplitLabels(text)
	case int:
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
		return nil
	case map[string]string:
		all := map[string]string{}
		eachPair(text, func(property, value string) { all[property] = value })
		return all
	case map[string][]string:
		all := map[string][]string{}
		eachPair(text, func(property, value string) { all[property] = append(all[property], value) })
		return all
	}
	return text
}

// eachPair reads lines such as address=10\..*
func eachPair(text string, add func(property, value string)) {
	for line := range strings.Lines(text) {
		if property, value, _ := strings.Cut(strings.TrimSpace(line), "="); property != "" {
			add(strings.TrimSpace(property), strings.TrimSpace(value))
		}
	}
}
