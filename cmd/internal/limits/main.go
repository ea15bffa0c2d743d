// Command limits writes docs/reference/limits.md and limits-delivery.md from the templates beside it. A template has {{package.name}} where a
// page has the value of the constant, and {{package.name size}} where that is a number of bytes.
package main

import (
	"embed"
	"fmt"
	"go/constant"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:generate go run . ../../..

//go:embed *.tmpl
var templates embed.FS

// pages are the documents, by their templates.
var pages = map[string]string{"limits.md.tmpl": "docs/reference/limits.md", "limits-delivery.md.tmpl": "docs/reference/limits-delivery.md"}

func main() {
	log.SetFlags(0)
	root := os.Args[1]
	known := newConstants(root)
	for template, page := range pages {
		text, err := render(known, template)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, page), []byte(text), 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

var placeholder = regexp.MustCompile(`\{\{([\w/]+\.\w+)( size)?\}\}`)

// render returns the document of a template.
func render(known *constants, template string) (string, error) {
	text, err := templates.ReadFile(template)
	if err != nil {
		return "", err
	}
	var failed error
	page := placeholder.ReplaceAllStringFunc(string(text), func(match string) string {
		m := placeholder.FindStringSubmatch(match)
		value, isDuration, err := known.value(m[1])
		if err != nil {
			failed = err
			return match
		}
		return written(value, isDuration, m[2] != "")
	})
	if failed != nil {
		return "", fmt.Errorf("%s: %w", template, failed)
	}
	notice := fmt.Sprintf("\n<!-- Made of cmd/internal/limits/%s by `make generate`. Do not edit. -->\n", template)
	head, rest, _ := strings.Cut(page, "\n")
	return head + "\n" + notice + rest, nil
}

// written is a value as people write it: 30 s, 64 KiB, 20,000.
func written(value constant.Value, isDuration, isSize bool) string {
	n, exact := constant.Int64Val(constant.ToInt(value))
	switch {
	case !exact:
		return value.String()
	case isDuration:
		return writtenDuration(time.Duration(n))
	case isSize:
		return writtenSize(n)
	}
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func writtenDuration(d time.Duration) string {
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "s"}, {time.Millisecond, "ms"}}
	for _, unit := range units {
		if d >= unit.of && d%unit.of == 0 {
			return strings.TrimSuffix(fmt.Sprint(int64(d/unit.of), " ", unit.name), plural(d/unit.of, unit.name))
		}
	}
	return d.String()
}

// plural is what a unit's name has too much of one.
func plural(n time.Duration, name string) string {
	if n == 1 && len(name) > 2 {
		return "s"
	}
	return ""
}

func writtenSize(n int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 1<<unit.shift && n%(1<<unit.shift) == 0 {
			return fmt.Sprint(n>>unit.shift, " ", unit.name)
		}
	}
	return fmt.Sprint(n, " bytes")
}
