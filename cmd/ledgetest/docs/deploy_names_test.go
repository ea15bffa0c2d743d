package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

var (
	namedCommand = regexp.MustCompile(`(?:^|[ =\x60]|/usr/bin/)ledge ([a-z]+)(?: ([a-z]+))?`)
	namedFile    = regexp.MustCompile(`dist/[\w.]+`)
)

// The files in deploy and the scripts of the package name only subcommands and files of `make dist` that exist.
func TestDeployNames(t *testing.T) {
	names := ledgetest.Subcommands(t)
	made := ledgetest.MustRead(t, ledgetest.Repo("docs", "install.md"))
	var paths []string
	for _, pattern := range []string{"deploy/*.*", "deploy/*/*", ".ci/dist/debian/*"} {
		found, err := filepath.Glob(ledgetest.Repo(filepath.FromSlash(pattern)))
		ledgetest.MustDo(t, err)
		paths = append(paths, found...)
	}
	seen := 0
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.IsDir() || filepath.Ext(path) == ".json" {
			continue
		}
		text := ledgetest.MustRead(t, path)
		for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
			below := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, m[1]+" ") && m[1] != "config" })
			quoted := strings.HasPrefix(m[0], "`") || strings.HasPrefix(m[0], "/") || slices.Contains(names, m[1])
			switch {
			case !quoted: // a sentence about Ledge
			case below && !slices.Contains(names, m[1]+" "+m[2]), !slices.Contains(names, m[1]) && m[1] != "help":
				t.Errorf("%s names the command %q, which does not exist", path, strings.TrimSpace(m[0]))
			default:
				seen++
			}
		}
		for _, file := range namedFile.FindAllString(text, -1) {
			name := regexp.MustCompile(`amd64|arm64|armv7`).ReplaceAllString(strings.TrimPrefix(file, "dist/"), "ARCH")
			if !strings.Contains(made, "`"+name+"`") {
				t.Errorf("%s names %s, which `make dist` does not make", path, file)
			}
			seen++
		}
	}
	if seen < 5 {
		t.Errorf("%d names are found", seen)
	}
}

// The help texts name documents that are in the package, below /usr/share/doc/ledge.
func TestHelpNamesDocuments(t *testing.T) {
	seen := 0
	for _, name := range ledgetest.Subcommands(t) {
		out, _, _ := ledgetest.Run(t, append([]string{"help"}, strings.Fields(name)...)...)
		for _, page := range regexp.MustCompile(`docs/[\w/-]+\.md`).FindAllString(out, -1) {
			if _, err := os.Stat(ledgetest.Repo(filepath.FromSlash(page))); err != nil {
				t.Errorf("ledge help %s: %v", name, err)
			}
			seen++
		}
	}
	if seen < 10 {
		t.Errorf("%d documents are named", seen)
	}
}
