package web

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ledge/handlers/faults"
)

// Problems are the errors of single fields of a form. Their paths are below the entity, such as name or channels[0].host.
type Problems []faults.Field

// Add notes an error of a field, as a whole sentence.
func (p *Problems) Add(field, says string) {
	*p = append(*p, faults.Field{Path: field, Says: says, Whole: true})
}

// ProblemsOf returns the errors of the fields that err is about.
func ProblemsOf(err error) Problems { return Problems(faults.FieldsOf(err)) }

// belowEntity returns the errors of the fields of a request, whose paths are such as [0].device.name.
func belowEntity(list []faults.Field) (p Problems) {
	for _, one := range list {
		_, one.Path, _ = strings.Cut(strings.TrimLeft(one.Path, "[0123456789]."), ".")
		p = append(p, one)
	}
	return p
}

// Of returns the errors of a field and of its parts as sentences that begin with its label; "" if there are none.
func (p Problems) Of(field, label string) string {
	var all []string
	for _, one := range p {
		if part, ok := partOf(one.Path, field); ok {
			all = append(all, sentenceOf(one, label, part))
		}
	}
	return strings.Join(all, " ")
}

// partOf returns the rest of a path behind a field; ok is false if the path is that of another field.
func partOf(path, field string) (part string, ok bool) {
	part, ok = strings.CutPrefix(path, field)
	return part, ok && (part == "" || part[0] == '.' || part[0] == '[')
}

func sentenceOf(f faults.Field, label, part string) string {
	if f.Whole {
		return Sentence(f.Says)
	}
	showsEntry := strings.HasSuffix(part, "]") && strings.HasPrefix(f.Says, `"`) // the text begins with the entry
	if place := describePart(part); place != "" && !showsEntry {
		label += " (" + place + ")"
	}
	return Sentence(label + " " + f.Says)
}

var indexInPath = regexp.MustCompile(`\[[^\]]*\]`)

// describePart returns the place of a part such as [0].interval or [address] in words: entry 1, interval; or address.
func describePart(part string) string {
	text := indexInPath.ReplaceAllStringFunc(part, func(index string) string {
		key := strings.Trim(index, "[]")
		if n, err := strconv.Atoi(key); err == nil {
			return fmt.Sprintf(", entry %d", n+1)
		}
		return ", " + key
	})
	return strings.TrimPrefix(strings.TrimPrefix(strings.ReplaceAll(text, ".", ", "), ","), " ")
}

// Label is the name that a form shows for the field at a path.
type Label struct{ Path, Text string }

// Labels are the fields that a form shows.
type Labels []Label

// labelOf returns the label of the field at a path or above it.
func (l Labels) labelOf(path string) (text string, ok bool) {
	i := slices.IndexFunc(l, func(one Label) bool { _, ok := partOf(path, one.Path); return ok })
	if i < 0 {
		return "", false
	}
	return l[i].Text, true
}

var (
	// place begins an error of the API: the position in the request, and the entity.
	place = regexp.MustCompile(`^\[\d+\]\.?(?:[A-Za-z]+\.|[A-Za-z]+: |: )`)
	// jsonName is a name that only a program writes: it has a capital inside. Quoted texts are values.
	jsonName = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\b[a-z]+[A-Z][A-Za-z]*\b`)
)

// reword replaces the JSON names of the fields in a text of the API by their labels.
func (l Labels) reword(text string) string {
	return jsonName.ReplaceAllStringFunc(place.ReplaceAllString(text, ""), func(name string) string {
		for _, one := range l {
			if one.Path == name || strings.HasSuffix(one.Path, "."+name) {
				return one.Text
			}
		}
		return name
	})
}

// Refuse notes the errors of a refused request in the form. It returns the message above the form, which names the fields as the form does.
func (f *Form) Refuse(a Answer, labels Labels) (message string) {
	f.Problems = slices.Clone(a.Problems)
	var marked, others []string
	for i := range f.Problems {
		one := &f.Problems[i]
		one.Says = labels.reword(one.Says)
		if label, ok := labels.labelOf(one.Path); !ok {
			others = append(others, sentenceOf(*one, describePart(one.Path), ""))
		} else if !slices.Contains(marked, label) {
			marked = append(marked, label)
		}
	}
	switch len(marked) {
	case 0:
	case 1:
		others = slices.Insert(others, 0, "Correct the marked field: "+marked[0]+".")
	default:
		others = slices.Insert(others, 0, "Correct the marked fields: "+strings.Join(marked, ", ")+".")
	}
	if len(others) == 0 {
		return labels.reword(a.Message)
	}
	return strings.Join(others, " ")
}

// RefuseProblems is Refuse for errors that the form has noted by itself.
func (f *Form) RefuseProblems(labels Labels) (message string) {
	return f.Refuse(Answer{Problems: f.Problems}, labels)
}
