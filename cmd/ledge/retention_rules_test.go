package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

func TestRetentionRules(t *testing.T) {
	var r retentionRules
	const text = "camera.*.jpeg age=24h bytes=10GiB count=100000, camera.>, *.dev-1.* count=5,*.*.* age=90m"
	if err := r.Set(text); err != nil {
		t.Fatal(err)
	}
	if got, want := r.String(), "camera.*.jpeg age=24h bytes=10GiB count=100000, camera.*.*, *.dev-1.* count=5, *.*.* age=90m"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if one := r[0]; one.age != 24*time.Hour || one.bytes != 10<<30 || one.count != 100_000 || one.why(limitBytes) != "camera.*.jpeg bytes=10GiB" {
		t.Errorf("got %+v", one)
	}
	for source, want := range map[string]int{"camera.dev-1.jpeg": 0, "camera.dev-1.png": 1, "sensor.dev-1.t": 2, "sensor.dev-2.t": 3, "camera.x.y": 1} {
		parts := strings.Split(source, ".")
		if got := r.find(parts[0], parts[1], parts[2]); got != want {
			t.Errorf("%s: rule %d, want %d", source, got, want)
		}
	}
	if err := r.Set("sensor.*.*"); err != nil || r.find("camera", "a", "b") != -1 {
		t.Errorf("%v; a source without a rule: %d", err, r.find("camera", "a", "b"))
	}
	if err := r.Set(""); err != nil || len(r) != 0 {
		t.Errorf("no rules: %v, %v", r, err)
	}
}

func TestBadRetentionRules(t *testing.T) {
	for text, says := range map[string]string{
		"camera.*":                        "has not the three parts",
		"a.b.c.d":                         "has not the three parts",
		"a.>.c age=1h":                    `">" is no name`,
		"cam*.*.* age=1h":                 `"cam*" is no name`,
		"a..c":                            `"" is no name`,
		"*.*.* age=1":                     "is no age; write it as age=24h",
		"*.*.* age=10ms":                  "1s or more",
		"*.*.* age=-1h":                   "is no age",
		"*.*.* bytes=0":                   "is no number of bytes",
		"*.*.* bytes=1TB":                 "is no number of bytes",
		"*.*.* count=many":                "is no number of events",
		"*.*.* size=5":                    "is no limit; use age=24h",
		"*.*.* age=1h age=2h":             "age is there twice",
		"*.*.* age=1h, a.b.c count=5":     `"*.*.* age=1h", which is before it, matches all that it does`,
		"a.b.c, a.b.c":                    "matches all",
		strings.Repeat("a.b.c-%,", 1):     "is no name",
		manyRules(mostRules + 1):          "more than 100 rules",
		"*.*.* age=1h camera.*.* count=5": "is no limit",
	} {
		var r retentionRules
		if err := r.Set(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: got %v, want %q in it", text, err, says)
		}
	}
}

func manyRules(n int) string {
	var list []string
	for i := range n {
		list = append(list, "*.d-"+strings.Repeat("x", i+1)+".*")
	}
	return strings.Join(list, ",")
}

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
