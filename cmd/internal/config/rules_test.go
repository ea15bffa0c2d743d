package config

import (
	"strings"
	"testing"
	"time"
)

func TestRetentionRules(t *testing.T) {
	var r Rules
	const text = "camera.*.jpeg age=24h bytes=10GiB count=100000, camera.>, *.dev-1.* count=5,*.*.* age=90m"
	if err := r.Set(text); err != nil {
		t.Fatal(err)
	}
	if got, want := r.String(), "camera.*.jpeg age=24h bytes=10GiB count=100000, camera.*.*, *.dev-1.* count=5, *.*.* age=90m"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if one := r[0]; one.Age != 24*time.Hour || one.Bytes != 10<<30 || one.Count != 100_000 || one.Why(LimitBytes) != "camera.*.jpeg bytes=10GiB" {
		t.Errorf("got %+v", one)
	}
	for source, want := range map[string]int{"camera.dev-1.jpeg": 0, "camera.dev-1.png": 1, "sensor.dev-1.t": 2, "sensor.dev-2.t": 3, "camera.x.y": 1} {
		parts := strings.Split(source, ".")
		if got := r.Find(parts[0], parts[1], parts[2]); got != want {
			t.Errorf("%s: rule %d, want %d", source, got, want)
		}
	}
	if err := r.Set("sensor.*.*"); err != nil || r.Find("camera", "a", "b") != -1 {
		t.Errorf("%v; a source without a rule: %d", err, r.Find("camera", "a", "b"))
	}
	if err := r.Set(""); err != nil || len(r) != 0 {
		t.Errorf("no rules: %v, %v", r, err)
	}
}

func TestBadRetentionRules(t *testing.T) {
	for text, says := range map[string]string{
		"camera.*":                        "has not the three parts",
		"a.b.c.d":                         "has not the three parts",
		"a.>.c age=1h":                    `">" is not a name`,
		"cam*.*.* age=1h":                 `"cam*" is not a name`,
		"a..c":                            `"" is not a name`,
		"*.*.* age=1":                     "is not an age; write it as age=24h",
		"*.*.* age=10ms":                  "1s or more",
		"*.*.* age=-1h":                   "is not an age",
		"*.*.* bytes=0":                   "is not a number of bytes",
		"*.*.* bytes=1TB":                 "is not a number of bytes",
		"*.*.* count=many":                "is not a number of events",
		"*.*.* size=5":                    "is not a limit; use age=24h",
		"*.*.* age=1h age=2h":             "age is there twice",
		"*.*.* age=1h, a.b.c count=5":     `"*.*.* age=1h", which is before it, matches all that it does`,
		"a.b.c, a.b.c":                    "matches all",
		strings.Repeat("a.b.c-%,", 1):     "is not a name",
		manyRules(mostRules + 1):          "more than 100 rules",
		"*.*.* age=1h camera.*.* count=5": "is not a limit",
	} {
		var r Rules
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
