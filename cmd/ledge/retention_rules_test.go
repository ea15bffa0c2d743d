package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestRetentionRulesInAFile takes them as a list and as a text, shows them, and refuses wrong ones at the start.
func TestRetentionRulesInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledge.yaml")
	for text, want := range map[string]string{
		"readings: {retention: [camera.*.jpeg age=24h, '*.*.* count=7']}": "readings-retention: \"camera.*.jpeg age=24h, *.*.* count=7\"",
		"readings-retention: '*.*.* count=7'":                             "readings-retention: \"*.*.* count=7\"",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, code := ledgetest.Run(t, "config", "--config", path); code != exit.OK || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s %s", text, code, out, errs)
		}
	}
	if err := os.WriteFile(path, []byte("readings-retention: [{a: 1}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := ledgetest.Run(t, "config", "--config", path); code != exit.Usage || !strings.Contains(errs, "must be a list of single values") {
		t.Errorf("%d %s", code, errs)
	}
	t.Setenv("LEDGE_READINGS_RETENTION", "camera age=1h")
	_, errs, code := ledgetest.Run(t, "serve", "--data-dir", t.TempDir())
	if code != exit.Usage || !strings.Contains(errs, `setting readings-retention: "camera age=1h": rule "camera age=1h": pattern "camera": has not the three parts`) {
		t.Errorf("%d %s", code, errs)
	}
}
