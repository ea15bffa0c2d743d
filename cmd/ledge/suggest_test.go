package main

import (
	"strings"
	"testing"
)

func TestDidYouMean(t *testing.T) {
	known := []string{"serve", "log", "verify", "metadata-port"}
	for word, want := range map[string]string{
		"sreve": "; did you mean serve?", "lgo": "; did you mean log?", "metadata-prot": "; did you mean metadata-port?", "verfy": "; did you mean verify?",
		"zzz": "", "": "",
	} {
		if got := didYouMean(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"sreve"}, "did you mean serve?"},
		{[]string{"user", "ad"}, "did you mean add?"},
		{[]string{"serve", "--metadata-prot", "1"}, "did you mean --metadata-port?"},
		{[]string{"config", "--config", mustWriteFile(t, "c.yaml", "metadata: {prot: 1}")}, "did you mean metadata-port?"},
	} {
		if _, stderr, code := ledge(t, tt.args...); code != exitUsage || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit code %d, %q; want %q", tt.args, code, stderr, tt.says)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Setenv("LEDGE_METADATA_PROT", "1")
	t.Setenv("LEDGE_PORT_59881_TCP", "tcp://10.0.0.1:59881") // as Kubernetes sets it
	_, stderr, code := ledge(t, "config")
	if want := "environment: there is no setting LEDGE_METADATA_PROT; did you mean LEDGE_METADATA_PORT?"; code != exitUsage || !strings.Contains(stderr, want) || strings.Contains(stderr, "59881_TCP") {
		t.Errorf("exit code %d, %q; want %q", code, stderr, want)
	}
}

// TestHelpIsTheCommandsOwn holds that the help of a command shows its own flags, and that of serve all settings.
func TestHelpIsTheCommandsOwn(t *testing.T) {
	for command, most := range map[string]int{"log": 20, "verify": 10, "user add": 10, "backup create": 10, "config": 10} {
		help, _, _ := ledge(t, append(strings.Fields(command), "--help")...)
		if n := strings.Count(help, "\n      --") + strings.Count(help, "\n  -"); n > most || !strings.Contains(help, "--data-dir") || strings.Contains(help, "--metadata-port") {
			t.Errorf("%s: %d flags:\n%s", command, n, help)
		}
	}
	if help, _, _ := ledge(t, "serve", "--help"); !strings.Contains(help, "--metadata-port") {
		t.Error("the help of serve does not show the settings")
	}
	if out, _, code := ledge(t, "--version"); code != exitOK || !strings.HasPrefix(out, "ledge ") {
		t.Errorf("--version: %d %s", code, out)
	}
	if _, stderr, code := ledge(t, "log", "--archive-dir", t.TempDir(), "--data-dir", t.TempDir()); code != exitFolder {
		t.Errorf("a setting that the help does not show: %d %s", code, stderr)
	}
}
