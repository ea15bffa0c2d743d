// Command words counts habits of writing that make Ledge's code and documents hard to read, and fails if there is more of one than
// words.txt allows. If there is less, it says so: then `words -write` lowers the figure, so that a habit can only become rarer.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// columns is the longest line, with tabs of 4.
const columns = 140

// habits are counted in comments, or in names and lines of code.
var habits = []struct{ name, instead string }{
	{"is-no", `write "is not a"`},
	{"where-for-if", `write "if" for a condition; "where" is a place`},
	{"clause-as-noun", `write the noun instead of "what …", "who …", "those that …", "that of …"`},
	{"one-word-function", "name an unexported function by verb and noun"},
	{"long-line", fmt.Sprintf("break lines that are longer than %d columns", columns)},
}

var (
	isNo   = regexp.MustCompile(`\bis no\b`)
	where  = regexp.MustCompile(`\b[Ww]here\b`)
	clause = regexp.MustCompile(`\b([Ww]hat|[Ww]ho|[Ww]hoever|[Tt]hose that|[Tt]hat of)\b`)
)

// counts is how often each habit was found, and the places.
type counts struct {
	n      map[string]int
	places map[string][]string
}

func (c *counts) add(habit, place string, n int) {
	if n > 0 {
		c.n[habit] += n
		c.places[habit] = append(c.places[habit], fmt.Sprintf("%s: %d", place, n))
	}
}

func main() {
	root := flag.String("root", ".", "folder of the repository")
	write := flag.Bool("write", false, "lower the figures in words.txt to what is there")
	list := flag.String("list", "", "print where a habit is")
	flag.Parse()
	if err := run(*root, *write, *list); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(root string, write bool, list string) error {
	found, err := count(root)
	if err != nil {
		return err
	}
	if list != "" {
		fmt.Println(strings.Join(found.places[list], "\n"))
		return nil
	}
	path := filepath.Join(root, "cmd", "internal", "words", "words.txt")
	allowed, err := readAllowed(path)
	if err != nil {
		return err
	}
	var text strings.Builder
	var wrong []string
	for _, h := range habits {
		n, most := found.n[h.name], allowed[h.name]
		switch {
		case n > most:
			wrong = append(wrong, fmt.Sprintf("%s: %d, and %d are allowed: %s (go run ./cmd/internal/words -list %[1]s)", h.name, n, most, h.instead))
		case n < most && !write:
			wrong = append(wrong, fmt.Sprintf("%s: %d are left of %d: run go run ./cmd/internal/words -write", h.name, n, most))
		}
		fmt.Fprintf(&text, "%s %d\n", h.name, min(n, most))
	}
	if write {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the ten rules of plain English:\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// readAllowed reads a line for each habit: its name and how many are allowed.
func readAllowed(path string) (map[string]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	allowed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var name string
		var n int
		if _, err := fmt.Sscanf(line, "%s %d", &name, &n); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		allowed[name] = n
	}
	return allowed, nil
}

// count reads all Go files, documents, templates, style sheets and scripts below root.
func count(root string) (*counts, error) {
	found := &counts{map[string]int{}, map[string][]string{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{"testdata", "bin", "dist", ".git"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		place, _ := filepath.Rel(root, path)
		switch filepath.Ext(path) {
		case ".go":
			return found.goFile(path, place)
		case ".md", ".html", ".css", ".js":
			if strings.Contains(d.Name(), ".min.") {
				return nil // of a library
			}
			text, err := os.ReadFile(path)
			found.add("is-no", place, len(isNo.FindAll(text, -1)))
			if filepath.Ext(path) != ".md" {
				found.add("long-line", place, countLongLines(string(text)))
			}
			return err
		}
		return nil
	})
	return found, err
}

func countLongLines(text string) (long int) {
	for line := range strings.Lines(text) {
		if len([]rune(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    "))) > columns {
			long++
		}
	}
	return long
}

func (c *counts) goFile(path, place string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	c.add("long-line", place, countLongLines(string(text)))
	for _, group := range file.Comments {
		said := group.Text()
		c.add("is-no", place, len(isNo.FindAllString(said, -1)))
		c.add("where-for-if", place, len(where.FindAllString(said, -1)))
		c.add("clause-as-noun", place, len(clause.FindAllString(said, -1)))
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Recv == nil && !f.Name.IsExported() && f.Name.Name != "main" && f.Name.Name != "init" && strings.IndexFunc(f.Name.Name, unicode.IsUpper) < 0 {
			c.add("one-word-function", place+" "+f.Name.Name, 1)
		}
	}
	return nil
}
