package static

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// libraryClasses are classes that htmx and uPlot set.
var libraryClasses = []string{"htmx-request", "u-legend"}

// scriptClasses are classes by which scripts find elements, without a style.
var scriptClasses = []string{"zone", "snippet"}

var (
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	quoted      = regexp.MustCompile(`"[^"\n]*"`)
	selectors   = regexp.MustCompile(`[^{}]*\{`)
	dotted      = regexp.MustCompile(`\.([a-zA-Z][\w-]*)`)
	classOf     = regexp.MustCompile(`\bclass="((?:\{\{(?s:.*?)\}\}|[^"{])*)"`)
	action      = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	names       = regexp.MustCompile(`"[a-z][a-z -]*"`)
	chartColour = regexp.MustCompile(`^probe-`) // chart.js joins these names
)

// readFiles returns the texts of the files of the console with an ending, by their paths, without the ones of libraries.
func readFiles(t *testing.T, ending string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		other := filepath.Ext(path) != ending || strings.Contains(path, ".min.") || strings.HasSuffix(path, "_test.go")
		if err != nil || d.IsDir() || other {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	return files
}

// TestClasses compares the classes of templates, scripts and Go files with the style sheet: each class has a style, and each style an
// element.
func TestClasses(t *testing.T) {
	styled := map[string]bool{}
	sheet := quoted.ReplaceAllString(comment.ReplaceAllString(readFiles(t, ".css")["../static/console.css"], ""), "")
	for _, selector := range selectors.FindAllString(sheet, -1) {
		if !strings.Contains(selector, "@media") {
			for _, class := range dotted.FindAllStringSubmatch(selector, -1) {
				styled[class[1]] = true
			}
		}
	}
	if len(styled) < 100 {
		t.Fatalf("only %d classes are in the style sheet", len(styled))
	}
	used := map[string]bool{}
	for path, text := range readFiles(t, ".html") {
		for _, attribute := range classOf.FindAllStringSubmatch(text, -1) {
			for _, class := range strings.Fields(action.ReplaceAllString(attribute[1], " ")) {
				used[class] = true
				if !styled[class] && !slices.Contains(scriptClasses, class) {
					t.Errorf("%s has the class %q, and console.css does not", path, class)
				}
			}
		}
	}
	for _, ending := range []string{".js", ".go"} {
		for _, text := range readFiles(t, ending) {
			for _, literal := range names.FindAllString(text, -1) {
				for _, class := range strings.Fields(strings.Trim(literal, `"`)) {
					used[class] = true
				}
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(styled)) {
		if !used[class] && !slices.Contains(libraryClasses, class) && !chartColour.MatchString(class) {
			t.Errorf("console.css has the class %q, and no element does", class)
		}
	}
}

// TestAssetsAreSmall bounds the bytes of all assets that browsers load, compressed.
func TestAssetsAreSmall(t *testing.T) {
	const most = 150_000
	sum := 0
	for name, a := range all {
		if !strings.HasSuffix(name, ".LICENSE") {
			sum += len(a.gzipped)
		}
	}
	if sum > most {
		t.Errorf("the assets take %d bytes, want %d at most", sum, most)
	}
	t.Logf("the assets take %d bytes of %d", sum, most)
}
