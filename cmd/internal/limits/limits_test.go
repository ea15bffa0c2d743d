package main

import (
	"go/constant"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// TestPagesAreGenerated holds that the pages are what the constants say.
func TestPagesAreGenerated(t *testing.T) {
	t.Parallel()
	known := newConstants(root)
	for template, page := range pages {
		want, err := render(known, template)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, page))
		if err != nil || string(got) != want {
			t.Errorf("%s is not what the constants say; run make generate (%v)", page, err)
		}
	}
}

// TestLimitsAreConstants holds that no limit is a number that somebody typed.
func TestLimitsAreConstants(t *testing.T) {
	t.Parallel()
	typed := regexp.MustCompile(`\d`)
	for template := range pages {
		text, err := templates.ReadFile(template)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, " | ")
			if len(cells) != 3 || !strings.HasPrefix(line, "| ") {
				continue
			}
			limit := placeholder.ReplaceAllString(cells[1], "")
			limit = regexp.MustCompile("`[^`]*`|\\[[^]]*\\]\\([^)]*\\)|float64|±1.8e308").ReplaceAllString(limit, "")
			if typed.MatchString(limit) {
				t.Errorf("%s: %q has a number; name the constant, as {{package.name}}", template, cells[0][2:])
			}
		}
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n          int64
		isDuration bool
		isSize     bool
		want       string
	}{
		{20_000, false, false, "20,000"}, {1_000_000, false, false, "1,000,000"}, {64, false, false, "64"},
		{int64(30 * time.Second), true, false, "30 s"}, {int64(time.Minute), true, false, "1 minute"}, {int64(250 * time.Millisecond), true, false, "250 ms"},
		{int64(90 * time.Second), true, false, "90 s"}, {int64(24 * time.Hour), true, false, "1 day"},
		{64 << 20, false, true, "64 MiB"}, {1 << 30, false, true, "1 GiB"}, {1500, false, true, "1500 bytes"}, {24 << 10, false, true, "24 KiB"},
	} {
		if got := written(constant.MakeInt64(tt.n), tt.isDuration, tt.isSize); got != tt.want {
			t.Errorf("%d: got %q, want %q", tt.n, got, tt.want)
		}
	}
}
