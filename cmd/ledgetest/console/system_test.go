package console

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// acceptDialogs answers the questions of this document with yes.
func acceptDialogs(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	return chromedp.Evaluate[chromedp.Void]("window.confirm = () => true; undefined")(ctx, t)
}

// TestConsoleSystem reads settings with their sources, and the page of each API.
func TestConsoleSystem(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--max-result-count", "77")
	b := logIn(p, t, domain.Viewer)
	b.open("/system")
	for setting, want := range map[string]string{"max-result-count": "77 --max-result-count", "resend-limit": "default"} {
		row := ask[string](b, `[...document.getElementById("setting-`+setting+`").parentElement.querySelectorAll("td")].slice(0, 2).map(e => e.innerText).join(" ")`)
		if !strings.Contains(row, want) {
			t.Errorf("setting %s is shown as %q, want %q", setting, row, want)
		}
	}
	for _, service := range []string{services.Metadata, services.Data, services.DeviceREST, services.Notifications} {
		b.open("/system")
		b.click("a[href='/system/api/" + service + "/docs']")
		b.until(`document.querySelectorAll(".opblock").length > 3`)
		b.click(".opblock-summary-control")
		b.see(".opblock-body .parameters-container, .opblock-body .responses-wrapper")
		if ask[bool](b, `!!document.querySelector(".try-out")`) {
			t.Errorf("the page of %s offers to send requests to the console", service)
		}
	}
	b.open("/system")
	for setting, shown := range map[string]bool{"readings-max-bytes": false, "disk-reserve": true} {
		b.see("#f-filter")
		ask[bool](b, `(f => { f.value = "FREE disk reserve"; f.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.querySelector("#f-filter"))`)
		if got := ask[bool](b, `!document.getElementById("setting-`+setting+`").parentElement.hidden`); got != shown {
			t.Errorf("the search for disk-reserve shows %s: %v", setting, got)
		}
	}
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-viewer", ledgetest.ConsolePassword)
	ledgetest.Want(c.Get("/"), t, http.StatusOK, `href="/system#disk"`, "% used; Ledge's logs take ")
	ledgetest.Want(c.Get("/system"), t, http.StatusOK, `id="disk"`, "% are used", "large values of readings", "Readings are refused below 4.0 MiB free, changes below 1.0 MiB.",
		"The oldest readings are removed when readings and their large values take 10.0 GiB.")
	if got := c.Get("/system/api/core-metadata/openapi.yaml"); got.StatusCode != http.StatusOK || !strings.Contains(got.Text, "openapi: 3") {
		t.Errorf("the document: %s", got.Status)
	}
	for _, path := range []string{"/system/api/core-metadata/docs/..%2fversion", "/system/api/console/docs", "/system/api/x/openapi.yaml", "/system/api/core-metadata/docs/x"} {
		if got := c.Get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}

// TestConsoleOverview holds the overview to what happens: it tells of a device at once, and of an endpoint that fails and why.
func TestConsoleOverview(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Operator)
	b.until(`document.querySelector(".tile").innerText.startsWith("3")`)
	fillConsole(p, t)
	b.until(`document.querySelector(".tile").innerText.startsWith("8")`)
	b.until(`document.querySelector("#overview").innerText.includes("anonymous@127.0.0.1")`)
	b.until(`/iB.*free on disk of .*% used.*take [1-9]/s.test(document.querySelector(".tile[href='/system#disk']").innerText)`)
	if ask[bool](b, `document.querySelector("#overview").innerText.includes("test-operator")`) {
		t.Error("an operator sees changes of users")
	}
	b.until(`document.querySelector("#overview").innerText.includes("connection refused")`)
	b.until(`parseFloat([...document.querySelectorAll(".tile")].find(e => e.innerText.includes("readings per")).innerText) > 0`)
	for _, tile := range ask[[]string](b, `[...document.querySelectorAll("a.tile")].map(e => new URL(e.href).pathname)`) {
		if !strings.HasPrefix(tile, "/") {
			t.Errorf("a tile links to %q", tile)
		}
	}
	p.AddConsoleUser(t, domain.Poster)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-poster", ledgetest.ConsolePassword)
	if got := c.Get("/"); got.StatusCode != http.StatusOK || !strings.Contains(got.Text, "post values") || strings.Contains(got.Text, "hall") {
		t.Errorf("a poster's overview: %s\n%s", got.Status, got.Text)
	}
}

// TestConsoleRetention sets limits in the console. They hold at once, `ledge config` and the page tell their source, and the change is on
// record with its author. The log is the truth: after a kill, with a file that is lost or older than the event, the limits still hold.
func TestConsoleRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *ledgetest.Node { return ledgetest.Start(t, dir, "--readings-max-age", "30d") }
	p := start()
	for range 5 {
		ledgetest.PostTo(p, "sample-numeric", "int", "text/plain", "1")
	}
	c := p.NewRole(t, domain.Admin)
	file := filepath.Join(p.Dir, datadir.RetentionFile)
	form := func(action, rules, age string) url.Values {
		return url.Values{"action": {action}, "readings-retention": {rules}, "readings-max-age": {age}}
	}
	ledgetest.Want(c.Get("/system/retention"), t, http.StatusOK, "Leave empty for the value of the configuration: 30d.")
	refused := c.Post("/system/retention", form("apply", "*.*.* count=none", ""))
	ledgetest.Want(refused, t, http.StatusUnprocessableEntity, `id="f-readings-retention-error"`, "is not a number of events")
	preview := c.Post("/system/retention", form("preview", "*.*.* count=2", "60d"))
	ledgetest.Want(preview, t, http.StatusOK, "*.*.* count=2: at most 3 events on the log", "Apply these limits")
	if _, err := os.Stat(file); err == nil {
		t.Error("a preview or a refusal has set limits")
	}
	seen := func(preview ledgetest.Page) string {
		t.Helper()
		return html.UnescapeString(regexp.MustCompile(`name="previewed" value="([^"]+)"`).FindStringSubmatch(preview.Text)[1])
	}
	apply := form("apply", "*.*.* count=1", "60d")
	apply.Set("previewed", seen(preview))
	ledgetest.Want(c.Post("/system/retention", apply), t, http.StatusOK, "The last preview was of other limits. Nothing is set yet.",
		"*.*.* count=1: at most 4 events on the log")
	if _, err := os.Stat(file); err == nil {
		t.Error("limits are set that were not previewed")
	}
	apply.Set("readings-retention", "*.*.* count=2")
	ledgetest.Want(c.Post("/system/retention", apply), t, http.StatusSeeOther)
	set := c.Get("/ledger?kind=retention")
	ledgetest.Want(set, t, http.StatusOK, "readings-max-age: 60d")
	ledgetest.Want(c.Get("/ledger/changes/"+ledgerRowsOf(set.Text)[0]), t, http.StatusOK, "<dt>From</dt><dd>127.0.0.1:")
	ledgetest.Await(p, "the removal of three readings", func() bool {
		return strings.Contains(p.Call(http.MethodGet, p.CoreData+"/api/v2/reading/all?limit=1", "", "").Body, `"totalCount":2`)
	})
	check := func(when string) {
		t.Helper()
		ledgetest.Want(c.Get("/system"), t, http.StatusOK, `>readings-max-age</th><td data-label="Value" class="mono">60d`)
		if a := p.Call(http.MethodGet, p.CoreData+"/api/v2/config", "", ""); !strings.Contains(a.Body, `"readings-max-age":"60d"`) {
			t.Errorf("%s: core-data has the settings %s", when, a.Body)
		}
		out, _, _ := ledgetest.Run(t, "config", "--changed", "--data-dir", p.Dir)
		if want := `readings-max-age: "60d" # from ` + file; !strings.Contains(out, want) {
			t.Errorf("%s: ledge config prints %s, want %s", when, out, want)
		}
	}
	check("after the change")
	if out, _, _ := ledgetest.Run(t, "log", "--data-dir", p.Dir, "--type", "retention.set"); !strings.Contains(out, "user:test-admin") {
		t.Errorf("on record: %s", out)
	}
	for _, text := range []string{"", "readings-max-age: 1s\n"} { // the file is lost, or older than the event
		p.Kill()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p = start()
		c = p.NewRole(t, domain.Admin)
		check("after a kill")
	}
	ledgetest.Want(p.NewRole(t, domain.Operator).Post("/system/retention", form("apply", "", "")), t, http.StatusForbidden)
	apply = form("apply", "", "")
	apply.Set("previewed", seen(c.Post("/system/retention", form("preview", "", ""))))
	ledgetest.Want(c.Post("/system/retention", apply), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/system"), t, http.StatusOK, `>readings-max-age</th><td data-label="Value" class="mono">30d`)
	if _, err := os.Stat(file); err == nil {
		t.Error("without limits of the console there is still a file")
	}
}
