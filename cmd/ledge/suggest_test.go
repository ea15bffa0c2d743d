package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

func TestSuggestions(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"sreve"}, "did you mean serve?"},
		{[]string{"user", "ad"}, "did you mean add?"},
		{[]string{"config", "shw"}, `unknown command "shw" for "ledge config"`},
		{[]string{"token", "add"}, "did you mean create?"},
		{[]string{"user", "delet"}, "did you mean remove?"},
		{[]string{"token", "frobnicate"}, "its commands are create, list, revoke"},
		{[]string{"help", "verfy"}, "did you mean verify?"},
		{[]string{"help", "user", "crate"}, "did you mean add?"},
		{[]string{"completion", "bsh"}, "did you mean bash?"},
		{[]string{"restore", "--data-dir", "new", "backup.tar"}, "restore has no default folder; write `ledge restore FILE DIR`; see"},
		{[]string{"restore", "backup.tar"}, "; write `ledge restore FILE DIR`; see"},
		{[]string{"salvage", "--to", "new"}, "; write `ledge salvage DIR`; see"},
		{[]string{"token", "create", "--name", "x"}, "; write `ledge token create NAME`; see"},
		{[]string{"secrets", "rekey", "--new-key-file", "x"}, "; write `ledge secrets rekey NEW`; see"},
		{[]string{"backup"}, "; write `ledge backup FILE`; see"},
		{[]string{"version", "now"}, `unknown command "now"`},
		{[]string{"token", "create", "--rol", "x"}, "did you mean --role?"},
		{[]string{"log", "--untli", "2h"}, "did you mean --until?"},
		{[]string{"serve", "--metadata-prot", "1"}, "did you mean --metadata-port?"},
		{[]string{"config", "--config", mustWriteFile(t, "c.yaml", "metadata: {prot: 1}")}, "did you mean metadata-port?"},
	} {
		if _, stderr, code := ledge(t, tt.args...); code != exit.Usage || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit code %d, %q; want %q", tt.args, code, stderr, tt.says)
		}
	}
}

// Variables that are no settings stop nothing: one line names them, on the log of serve and on standard error of other commands.
func TestUnknownVariables(t *testing.T) {
	t.Setenv("LEDGE_METADATA_PROT", "1")
	t.Setenv("LEDGE_SMTP_HOST", "mail")
	t.Setenv("LEDGE_SERVICE_HOST", "10.0.0.1") // as Kubernetes sets it for a service named ledge
	t.Setenv("LEDGE_PORT_59881_TCP", "tcp://10.0.0.1:59881")
	want := []string{
		"LEDGE_METADATA_PROT (did you mean LEDGE_METADATA_PORT?), LEDGE_SMTP_HOST (it was removed: use smtp-server, ",
		"), LEDGE_PORT_59881_TCP, LEDGE_SERVICE_HOST; `ledge config` lists the settings\n",
	}
	out, stderr, code := ledge(t, "config")
	if code != exit.OK || !strings.Contains(out, "metadata-port: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("config: exit code %d, %q", code, stderr)
	}
	p := start(t, t.TempDir())
	line, _ := p.log.find("LEDGE_SERVICE_HOST")
	logged := field(line, "msg") + "\n"
	for _, text := range want {
		if !strings.Contains(stderr, text) || !strings.Contains(logged, text) {
			t.Errorf("config: %q\nserve: %q\nwant both with %q", stderr, line, text)
		}
	}
	if field(line, "level") != "WARN" {
		t.Errorf("the level of %s is not WARN", line)
	}
	for i := range 20 {
		t.Setenv(fmt.Sprintf("LEDGE_PORT_%d_TCP_PROTO", 10+i), "tcp")
	}
	if _, stderr, _ := ledge(t, "config"); !strings.Contains(stderr, " and 16 more; ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("24 variables: %q", stderr)
	}
}

var docPage = regexp.MustCompile(`docs/[a-z/-]+\.md`)

// TestHelp holds for each command that its help is short, has two examples, and shows its own flags. That of serve is longer: it has all
// settings, in groups.
func TestHelp(t *testing.T) {
	settings := config.FlagNames(config.Default().Settings(), "--")
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		help, errs, code := ledge(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if code != exit.OK || errs != "" {
			t.Errorf("%s --help: %d %s", c.CommandPath(), code, errs)
		}
		lines := strings.Split(strings.TrimRight(help, "\n"), "\n")
		serve := c.Name() == "serve"
		if len(lines) > 40 && !serve {
			t.Errorf("the help of %s has %d lines, want 40 at most", c.CommandPath(), len(lines))
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > cli.HelpWidth {
				t.Errorf("the help of %s has a line of %d columns, want %d at most: %s", c.CommandPath(), n, cli.HelpWidth, line)
			}
		}
		for _, page := range docPage.FindAllString(help, -1) {
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
	if out, _, code := ledge(t, "--version"); code != exit.OK || !strings.HasPrefix(out, "ledge ") {
		t.Errorf("--version: %d %s", code, out)
	}
	if _, stderr, code := ledge(t, "log", "--archive-dir", t.TempDir(), "--data-dir", t.TempDir()); code != exit.Folder {
		t.Errorf("a setting that the help does not show: %d %s", code, stderr)
	}
}
