package console

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsoleLighthouse has Lighthouse look at every page. It takes 12 minutes and a quiet machine, so only make lighthouse installs it.
func TestConsoleLighthouse(t *testing.T) {
	program, err := filepath.Abs("../../../bin/lighthouse/node_modules/lighthouse/cli/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil || os.Getenv("TEST_LEDGE_LIGHTHOUSE") == "" {
		t.Skip("Lighthouse takes 12 minutes: run make lighthouse")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: Debian's package npm")
	}
	browser := ledgetest.FindBrowser()
	if browser == "" {
		t.Skip("no browser is installed: Debian's package chromium-headless-shell or chromium")
	}
	p := ledgetest.Start(t, t.TempDir())
	fillConsole(p, t)
	c := p.NewRole(t, domain.Admin)
	headers, err := json.Marshal(map[string]string{"Cookie": c.Cookie.Name + "=" + c.Cookie.Value})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range consolePages(t, c) {
		if !strings.Contains(path, os.Getenv("TEST_LEDGE_LIGHTHOUSE")) {
			continue
		}
		report := filepath.Join(t.TempDir(), "report.json")
		cmd := exec.CommandContext(t.Context(), node, program, p.Console+path, "--quiet", "--chrome-flags=--headless --no-sandbox --disable-gpu",
			"--extra-headers", string(headers), "--output", "json", "--output-path", report, "--only-categories=performance,accessibility,best-practices")
		cmd.Env = append(os.Environ(), "CHROME_PATH="+browser)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, out)
		}
		var got struct {
			FinalDisplayedURL string
			Categories        map[string]struct{ Score float64 }
			Audits            map[string]struct {
				Score        *float64
				DisplayValue string
			}
		}
		if err := json.Unmarshal([]byte(ledgetest.MustRead(t, report)), &got); err != nil || len(got.Categories) != 3 || got.FinalDisplayedURL != p.Console+path {
			t.Fatalf("%s: %v, at %s", path, err, got.FinalDisplayedURL)
		}
		for name, category := range got.Categories {
			if category.Score < 0.95 {
				var costs []string
				for audit, a := range got.Audits {
					if a.Score != nil && *a.Score < 0.95 {
						costs = append(costs, fmt.Sprintf("%s %.2f %s", audit, *a.Score, a.DisplayValue))
					}
				}
				slices.Sort(costs)
				t.Errorf("%s: %s is %.2f, want 0.95 or more; these audits cost it: %s", path, name, category.Score, strings.Join(costs, ", "))
			}
		}
	}
}
