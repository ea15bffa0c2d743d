package console

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
