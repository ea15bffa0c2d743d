// Package webtest checks the templates of pages against the Go types of their data.
package webtest

import (
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template/parse"

	"ledge/handlers/console/web"
)

// CheckFields fails for each name in a template that is not an exported field of the data there, such as the name of a method. The templates
// of the program call no methods, and a page that does is not shown.
//
// data has the [web.Page.Data] of each page by the name of its template. An interface in it needs a value. The folders have the templates:
// those below "shared" are parts of all pages, and the others are pages. CheckFields returns the names of the pages without data, in order.
func CheckFields(tb testing.TB, data map[string]any, folders ...fs.FS) (others []string) {
	tb.Helper()
	shared, pages := map[string]*parse.Tree{}, map[string]map[string]*parse.Tree{}
	for _, in := range folders {
		err := fs.WalkDir(in, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			if path.Base(path.Dir(name)) == "shared" {
				maps.Copy(shared, mustParse(tb, in, name))
			} else {
				pages[strings.TrimSuffix(path.Base(name), ".html")] = mustParse(tb, in, name)
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		own := pages[name]
		of, ok := data[name]
		if !ok {
			others = append(others, name)
			continue
		}
		w := walker{tb: tb, page: name, trees: maps.Clone(shared), walked: map[string]bool{}}
		maps.Copy(w.trees, own)
		w.walkTree("layout", reflect.ValueOf(web.Page{Data: of}))
		for part, tree := range own {
			if !parse.IsEmptyTree(tree.Root) && !w.walked[part] {
				tb.Errorf("%s: nothing uses the template %q, so it is not checked", name, part)
			}
		}
	}
	for name := range data {
		if pages[name] == nil {
			tb.Errorf("there is no template of the page %s", name)
		}
	}
	return others
}

func mustParse(tb testing.TB, in fs.FS, name string) map[string]*parse.Tree {
	tb.Helper()
	text, err := fs.ReadFile(in, name)
	if err != nil {
		tb.Fatal(err)
	}
	t, trees := parse.New(name), map[string]*parse.Tree{}
	t.Mode = parse.SkipFuncCheck // the program checks them when it parses the page
	if _, err = t.Parse(string(text), "", "", trees); err != nil {
		tb.Fatal(err)
	}
	return trees
}

// results are the functions of templates whose results are not texts, numbers or the like, which have no fields.
var results = map[string]reflect.Value{
	"field": reflect.ValueOf(web.Field{}),
	"input": reflect.ValueOf(&web.Field{}),
}

// plain stands for each value without fields.
var plain = reflect.ValueOf("")

// scope has the values of dot and of the variables in a part of a template. They have the types of the data; most are empty.
type scope struct {
	dot  reflect.Value
	vars map[string]reflect.Value
}

func (s scope) with(dot reflect.Value) scope { return scope{dot, maps.Clone(s.vars)} }

// walker checks the templates of a page.
type walker struct {
	tb     testing.TB
	page   string
	trees  map[string]*parse.Tree
	walked map[string]bool // templates, and templates with the type of their dot
	tree   *parse.Tree     // of the template that is walked
}

func (w *walker) errorf(node parse.Node, format string, args ...any) {
	w.tb.Helper()
	place, _ := w.tree.ErrorContext(node)
	w.tb.Errorf("page %s, %s: "+format, append([]any{w.page, place}, args...)...)
}

// walkTree checks a template with a value as its dot.
func (w *walker) walkTree(name string, dot reflect.Value) {
	of := name
	if dot.IsValid() {
		of += " of " + dot.Type().String()
	}
	if w.walked[of] {
		return
	}
	w.walked[name], w.walked[of] = true, true
	before := w.tree
	defer func() { w.tree = before }()
	if w.tree = w.trees[name]; w.tree == nil {
		w.tb.Errorf("page %s: there is no template %q", w.page, name)
		return
	}
	w.walk(w.tree.Root, scope{dot, map[string]reflect.Value{"$": dot}})
}

func (w *walker) walk(node parse.Node, in scope) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, one := range n.Nodes {
			w.walk(one, in)
		}
	case *parse.ActionNode:
		if v := w.pipe(n.Pipe, in); len(n.Pipe.Decl) == 0 && v.IsValid() && v.Kind() == reflect.Func {
			w.errorf(n, "a function is called with {{call}}")
		}
	case *parse.IfNode:
		inner := in.with(in.dot)
		w.pipe(n.Pipe, inner)
		w.walk(n.List, inner)
		w.walk(n.ElseList, inner)
	case *parse.WithNode:
		inner := in.with(in.dot)
		v := w.pipe(n.Pipe, inner)
		w.walk(n.List, inner.with(v))
		w.walk(n.ElseList, inner)
	case *parse.RangeNode:
		w.walkRange(n, in.with(in.dot))
	case *parse.TemplateNode:
		dot := reflect.Value{}
		if n.Pipe != nil {
			dot = w.pipe(n.Pipe, in)
		}
		w.walkTree(n.Name, dot)
	case *parse.TextNode, *parse.CommentNode:
	default:
		w.errorf(node, "this check does not know %T", node)
	}
}

func (w *walker) walkRange(n *parse.RangeNode, in scope) {
	list := w.pipe(n.Pipe, in)
	key, one := plain, reflect.Value{}
	switch list = followPointers(list); {
	case !list.IsValid():
		w.errorf(n, "the type of the list is not known")
	case list.Kind() == reflect.Slice, list.Kind() == reflect.Array, list.Kind() == reflect.Map:
		one = elementOf(list)
	default:
		w.errorf(n, "%s is not a list", list.Type())
	}
	if names := n.Pipe.Decl; len(names) > 0 {
		in.vars[names[0].Ident[0]] = key
		in.vars[names[len(names)-1].Ident[0]] = one
	}
	w.walk(n.List, in.with(one))
	w.walk(n.ElseList, in)
}

// pipe returns the value of a pipeline, and sets its variables.
func (w *walker) pipe(n *parse.PipeNode, in scope) (v reflect.Value) {
	for _, command := range n.Cmds {
		v = w.command(command, in)
	}
	for _, name := range n.Decl {
		in.vars[name.Ident[0]] = v
	}
	return v
}

func (w *walker) command(n *parse.CommandNode, in scope) reflect.Value {
	name, isFunction := n.Args[0].(*parse.IdentifierNode)
	if !isFunction {
		if len(n.Args) > 1 {
			w.errorf(n, "only functions have arguments; a field that is a function is called with {{call}}")
		}
		return w.value(n.Args[0], in)
	}
	args := make([]reflect.Value, len(n.Args)-1)
	for i, arg := range n.Args[1:] {
		args[i] = w.value(arg, in)
	}
	if v, known := results[name.Ident]; known {
		return v
	}
	switch name.Ident {
	case "call":
		return w.call(n, args)
	case "index":
		return elementOf(followPointers(args[0]))
	case "slice":
		return args[0]
	case "and", "or":
		return args[len(args)-1]
	}
	return plain
}

// call returns the result of a field that is a function.
func (w *walker) call(n parse.Node, args []reflect.Value) reflect.Value {
	if f := args[0]; !f.IsValid() || f.Kind() != reflect.Func || f.Type().NumIn() != len(args)-1 {
		w.errorf(n, "this is not a function with %d arguments", len(args)-1)
		return plain
	}
	return reflect.New(args[0].Type().Out(0)).Elem()
}

func (w *walker) value(node parse.Node, in scope) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return in.dot
	case *parse.FieldNode:
		return w.fields(n, in.dot, n.Ident)
	case *parse.VariableNode:
		v, known := in.vars[n.Ident[0]]
		if !known {
			w.errorf(n, "the variable is not known")
			return plain
		}
		return w.fields(n, v, n.Ident[1:])
	case *parse.ChainNode:
		return w.fields(n, w.value(n.Node, in), n.Field)
	case *parse.PipeNode:
		return w.pipe(n, in)
	case *parse.IdentifierNode:
		return plain
	}
	return plain // a constant
}

// fields returns the field of a field of a value, and so on.
func (w *walker) fields(node parse.Node, v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		of := v
		if v = followPointers(v); !v.IsValid() {
			w.errorf(node, "%s: the type of the data is not known", name)
			return plain
		}
		switch v.Kind() {
		case reflect.Struct:
			f, ok := v.Type().FieldByName(name)
			if !ok || !f.IsExported() {
				w.errorf(node, "%s has no field %s, or only a method with this name", of.Type(), name)
				return plain
			}
			v = fieldOf(v, f.Index)
		case reflect.Map:
			v = elementOf(v)
		default:
			w.errorf(node, "%s has no field %s", of.Type(), name)
			return plain
		}
	}
	return v
}

// fieldOf returns a field, also if it is of an embedded pointer that is nil.
func fieldOf(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		v = followPointers(v).Field(i)
	}
	return v
}

// followPointers returns the value behind pointers and interfaces: an empty one behind a pointer that is nil, and an invalid one behind an
// interface that is nil.
func followPointers(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		v = v.Elem()
	}
	return v
}

// elementOf returns the first element of a list or a map, or an empty one.
func elementOf(list reflect.Value) reflect.Value {
	switch {
	case !list.IsValid():
	case list.Kind() == reflect.Map:
		for _, key := range list.MapKeys() {
			return list.MapIndex(key)
		}
		return reflect.New(list.Type().Elem()).Elem()
	case list.Kind() == reflect.Slice && list.Len() > 0, list.Kind() == reflect.Array:
		return list.Index(0)
	case list.Kind() == reflect.Slice:
		return reflect.New(list.Type().Elem()).Elem()
	}
	return plain
}
