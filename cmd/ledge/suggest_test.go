package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestHelp holds for each command that its help is short, has two examples, and shows its own flags. That of serve is longer: it has all
// settings, in groups.
func TestHelp(t *testing.T) {
	settings := config.FlagNames(config.Default().Settings(), "--")
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		help, errs, code := ledgetest.Run(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if code != exit.OK || errs != "" {
			t.Errorf("%s --help: %d %s", c.CommandPath(), code, errs)
		}
		lines := strings.Split(strings.TrimRight(help, "\n"), "\n")
		serve, most := c.Name() == "serve", 40
		if !c.HasParent() {
			most = 20 + len(c.Commands()) // with a line for each command
		}
		if len(lines) > most && !serve {
			t.Errorf("the help of %s has %d lines, want %d at most", c.CommandPath(), len(lines), most)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("the help of %s has a line of %d columns, want %d at most: %s", c.CommandPath(), n, 100, line)
			}
		}
		for _, page := range ledgetest.DocPage.FindAllString(help, -1) {
			if _, err := os.Stat(filepath.Join("..", "..", page)); err != nil {
				t.Errorf("the help of %s names %s: %v", c.CommandPath(), page, err)
			}
		}
		_, examples, _ := strings.Cut(help, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		if strings.Count(examples, "ledge") < 2 || strings.Count(examples, "\n") != 1 {
			t.Errorf("the help of %s does not have two examples: %q", c.CommandPath(), examples)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if shown := strings.Contains(help, "--"+f.Name+" "); shown == f.Hidden && !slices.Contains(settings, "--"+f.Name) {
				t.Errorf("the help of %s shows --%s: %v", c.CommandPath(), f.Name, shown)
			}
		})
		for _, name := range settings {
			own := serve || name == "--data-dir" && c.Name() != "restore" && c.Flags().Lookup("data-dir") != nil
			if shown := strings.Contains(help, " "+name+" "); shown != own && !strings.Contains(examples, name) {
				t.Errorf("the help of %s shows the setting %s: %v", c.CommandPath(), name, shown)
			}
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(newRoot())
	if out, _, code := ledgetest.Run(t, "--version"); code != exit.OK || !strings.HasPrefix(out, "ledge ") {
		t.Errorf("--version: %d %s", code, out)
	}
	if _, stderr, code := ledgetest.Run(t, "log", "--archive-dir", t.TempDir(), "--data-dir", t.TempDir()); code != exit.Folder {
		t.Errorf("a setting that the help does not show: %d %s", code, stderr)
	}
}
