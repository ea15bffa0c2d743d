package fold

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
)

// format is how keys and rows are written, and what the values of an index are taken from. Count it up with every
// change of those: all else that a file depends on is in the name of its schema by itself.
const format = 6

// schemaName names the layout of a file: its tables with their ids and indexes, and the types that its rows are made of.
func schemaName(name string, tables []AnyTable) string {
	h := sha256.New()
	for _, t := range tables {
		t.layout(h)
	}
	return fmt.Sprintf("%d %s %x", format, name, h.Sum(nil)[:8])
}

// layout writes what a change of makes files of another layout.
func (t *Table[S]) layout(w io.Writer) {
	fmt.Fprintf(w, "table %02x %q shift=%d weighed=%t ", t.ID, t.Name, t.Shift, t.Weigh != nil)
	shape(w, reflect.TypeFor[S](), nil)
	if t.Row != nil {
		shape(w, t.Row, nil)
	}
	for _, x := range t.Indexes {
		fmt.Fprintf(w, "index %02x %q all=%t time=%t\n", x.ID, x.Name, x.Values == nil, x.At != nil)
		if x.Note != nil {
			fmt.Fprintln(w, "with a note")
		}
	}
}

// shape writes the fields of a type and of those that it is made of, as JSON names them. A type whose values are of some kinds has a method
// Layout, which returns the kinds: a program that does not know a kind folds the log again, and is stopped by the event.
func shape(w io.Writer, t reflect.Type, within []reflect.Type) {
	fmt.Fprintf(w, "%s %s\n", t, t.Kind())
	if v, ok := reflect.Zero(t).Interface().(interface{ Layout() string }); ok {
		fmt.Fprintln(w, v.Layout())
	}
	for _, outer := range within {
		if t == outer {
			return
		}
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(w, "%s %q ", f.Name, f.Tag)
			shape(w, f.Type, within)
		}
	case reflect.Map:
		shape(w, t.Key(), within)
		shape(w, t.Elem(), within)
	case reflect.Slice, reflect.Array, reflect.Pointer:
		shape(w, t.Elem(), within)
	}
}
