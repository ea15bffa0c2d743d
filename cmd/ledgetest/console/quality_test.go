package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// npmFile returns the path of a file of an npm package that make testtools installs.
func npmFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../../bin/npm/node_modules/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the npm package of %s is not installed: make testtools, with Debian's package npm", name)
	}
	return path
}

// consoleExamples fill the parameters of routes, by the route.
var consoleExamples = map[string]string{
	"/devices/:name":       "/devices/boiler-2",
	"/profiles/:name":      "/profiles/boiler",
	"/services/:name":      "/services/device-rest",
	"/watchers/:name":      "/watchers/finder",
	"/subscriptions/:name": "/subscriptions/gate",
	"/users/:name":         "/users/test-admin",
	"/ledger/:log/:seq":    "/ledger/changes/2",
}

// consolePages are the addresses of all pages: each route of GET that answers with HTML, with its parameters filled.
func consolePages(t *testing.T, c *ledgetest.ConsoleClient) (pages []string) {
	t.Helper()
	pages = regexp.MustCompile(`/notifications/[0-9a-f-]{36}`).FindAllString(c.Get("/notifications").Text, 1)
	for route := range ledgetest.ConsoleRoutes() {
		path, isGet := strings.CutPrefix(route, "GET ")
		if !isGet || strings.HasPrefix(path, "/static") || path == "/live" || path == "/login" || path == "/favicon.ico" {
			continue
		}
		if strings.ContainsAny(path, ":*") {
			known := false
			for pattern, example := range consoleExamples {
				if rest, ok := strings.CutPrefix(path, pattern); ok && !strings.ContainsAny(rest, ":*") {
					path, known = example+rest, true
					break
				}
			}
			if !known {
				t.Logf("no example for %s", route)
				continue
			}
		}
		if entity, ok := strings.CutSuffix(path, "/restore"); ok { // of the oldest version
			versions := regexp.MustCompile(`seq=\d+`).FindAllString(c.Get(entity+"/history").Text, -1)
			path += "?" + versions[len(versions)-1]
		}
		if got := c.Get(path); got.StatusCode == http.StatusOK && strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			pages = append(pages, path)
		} else if got.StatusCode >= 400 {
			t.Errorf("%s: %s\n%s", path, got.Status, got.Text)
		}
	}
	for _, resource := range []string{"temperature", "door", "picture", "status"} { // each kind of value is shown in another way
		pages = append(pages, "/devices/boiler-2?resource="+resource)
	}
	pages = append(pages, "/devices/+all?action=delete&q=boiler", "/devices/+all?action=lock&seq=1&at=1&of=4")
	slices.Sort(pages)
	return pages
}

// look makes a tab as wide as a window, with a scheme of colours.
func (b *tab) look(width int64, scheme string) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, 900), func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		return cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	})
}

// TestConsolePages looks at every page, in light and dark, narrow and wide: nothing overflows, nothing breaks the policy, axe finds nothing
// serious, and nothing comes from elsewhere.
func TestConsolePages(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(npmFile(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	p := ledgetest.Start(t, t.TempDir())
	fillConsole(p, t)
	pages := consolePages(t, p.NewRole(t, domain.Admin))
	looks := []string{"1280-light", "360-dark"} // each width and each scheme once: no rule of the style sheet depends on both
	if os.Getenv("TEST_LEDGE_PICTURES") != "" {
		looks = append(looks, "1280-dark", "360-light")
	}
	for _, look := range looks {
		t.Run(look, func(t *testing.T) {
			t.Parallel()
			logIn(p, t, domain.Admin).checkPages(look, string(axe), pages)
		})
	}
}

// checkPages looks at all pages with a width and a scheme of colours, such as 360-dark.
func (b *tab) checkPages(look, axe string, pages []string) {
	b.Helper()
	var width int64
	var scheme string
	if _, err := fmt.Sscanf(look, "%d-%s", &width, &scheme); err != nil {
		b.Fatal(err)
	}
	b.look(width, scheme)
	b.runBefore(axe + `; window.wrongs = [];
		document.addEventListener("securitypolicyviolation",
			e => window.wrongs.push("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));
		window.addEventListener("error", e => window.wrongs.push("script: " + e.message));`)
	for _, path := range pages {
		b.open(path)
		b.picture(strings.Trim(strings.ReplaceAll(path, "/", "-"), "-") + "-" + look)
		b.checkPage(path + " as " + look)
	}
}

// brokenWords returns words of at most 20 characters in cells, buttons and times that are on two lines. A hyphen ends a word.
const brokenWords = `(() => {
	const found = [], range = document.createRange();
	document.querySelectorAll("main :is(th, td, button, .button, :is(th, td, dd) time)").forEach(e => {
		const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
		for (let t = texts.nextNode(); t; t = texts.nextNode()) {
			if (t.parentElement.closest("code, .mono")) continue;
			for (const word of t.data.matchAll(e.tagName === "TIME" ? /.+/g : /[^\s-]+/g)) {
				range.setStart(t, word.index);
				range.setEnd(t, word.index + word[0].length);
				if (word[0].length <= 20 && new Set(Array.from(range.getClientRects(), r => r.top)).size > 1) found.push(word[0]);
			}
		}
	});
	return found;
})()`

// TestConsoleLists measures the rows of the lists of a wide window and of a small one: they are low, and all that is important is in sight.
func TestConsoleLists(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	fillConsole(p, t)
	p.AddConsoleUser(t, domain.Operator)
	c := p.NewRole(t, domain.Admin)
	token := url.Values{"token-name": {"meter-gateway"}, "token-role": {"viewer"}, "days": {"30"}}
	ledgetest.Want(c.Post("/tokens", token), t, http.StatusSeeOther)
	b := logIn(p, t, domain.Admin)
	b.until(`document.querySelector("#overview").innerText.includes("connection refused")`)
	for _, width := range []int64{1280, 1024} {
		b.look(width, "light")
		for _, path := range []string{"/", "/ledger", "/notifications", "/readings", "/services", "/subscriptions", "/users"} {
			b.open(path)
			b.until(`document.querySelector("main tbody tr") && !/UTC/.test(document.querySelector("main tbody").innerText)`)
			if broken := ask[[]string](b, brokenWords); len(broken) > 0 {
				t.Errorf("%s at %d px breaks %q", path, width, broken)
			}
			cut := ask[[]string](b, `[...document.querySelectorAll("main .list tbody :is(td, button)")].filter(e =>
				e.getBoundingClientRect().right > e.closest(".scroll").getBoundingClientRect().right + 1).map(e => e.innerText)`)
			if len(cut) > 0 {
				t.Errorf("%s at %d px cuts %q", path, width, cut)
			}
			high := ask[[]string](b, `[...document.querySelectorAll("main .list tbody tr:not(:has(img))")].filter(e =>
				e.offsetHeight > 6 * 22 + 20).map(e => e.offsetHeight + ": " + e.innerText)`)
			if len(high) > 0 {
				t.Errorf("%s at %d px has high rows: %q", path, width, high)
			}
		}
	}
	b.look(1280, "light")
	b.open("/devices/boiler-2?resource=pressure")
	b.until(`!!document.querySelector(".uplot")`)
	places := ask[[]string](b, `[...document.querySelectorAll("#actions :is(a, button)")].map(e => e.getBoundingClientRect())
		.map((r, i, all) => [r.top, r.height, i ? Math.round(r.left - all[i - 1].right) : 8].join(" "))`)
	if slices.Sort(places); len(places) < 6 || len(slices.Compact(places)) > 1 {
		t.Errorf("the buttons of a device have several tops, heights and gaps, in px: %q", places)
	}
	versions := regexp.MustCompile(`seq=\d+`).FindAllString(c.Get("/devices/boiler-2/history").Text, -1)
	for _, path := range []string{"/verify", "/devices/boiler-2/restore?" + versions[len(versions)-1]} {
		b.open(path)
		if path == "/verify" {
			b.click("main form button")
			b.see("#verification .scroll + form")
		}
		gap := ask[float64](b, `(e => e.nextElementSibling.getBoundingClientRect().top - e.getBoundingClientRect().bottom)(
			document.querySelector("main .scroll"))`)
		if gap < 8 {
			t.Errorf("the buttons of %s are %v px below the table", path, gap)
		}
	}
}

func (b *tab) checkPage(where string) {
	b.Helper()
	if broken := ask[[]string](b, brokenWords); len(broken) > 0 {
		b.Errorf("%s breaks %q", where, broken)
	}
	if wide := ask[[]string](b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .skip, nav, thead, pre, [hidden], dialog:not([open])")).map(e => e.outerHTML.slice(0, 90))`); len(wide) > 0 || ask[bool](b, "document.documentElement.scrollWidth > innerWidth") {
		b.Errorf("%s is wider than the window: %.3q", where, wide)
	}
	if wrongs := ask[[]string](b, "window.wrongs"); len(wrongs) > 0 {
		b.Errorf("%s: %q", where, wrongs)
	}
	for _, url := range ask[[]string](b, `performance.getEntriesByType("resource").map(e => e.name)`) {
		if !strings.HasPrefix(url, b.base) {
			b.Errorf("%s loads %s", where, url)
		}
	}
	found := ask[[]string](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.html + " " + n.failureSummary).join("; ").slice(0, 600)))`)
	for _, one := range found {
		b.Errorf("%s: %s", where, one)
	}
}

// TestConsoleHTML has a validator read every page.
func TestConsoleHTML(t *testing.T) {
	t.Parallel()
	validator := npmFile(t, "html-validate/bin/html-validate.mjs")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: Debian's package npm")
	}
	p := ledgetest.Start(t, t.TempDir())
	fillConsole(p, t)
	p.AddConsoleUser(t, domain.Admin)
	c := ledgetest.NewConsoleClient(p)
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, strings.Trim(strings.ReplaceAll(name, "/", "-"), "-")+".html")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	files := []string{write("login", c.Get("/login").Text)}
	c.Login(t, "test-admin", ledgetest.ConsolePassword)
	for _, path := range consolePages(t, c) {
		files = append(files, write("page"+path, c.Get(path).Text))
	}
	config, _ := json.Marshal(map[string]any{"root": true, "extends": []string{"html-validate:standard"}, "rules": map[string]any{
		"long-title": "off", "no-trailing-whitespace": "off", "void-style": "off", "no-inline-style": "error", "tel-non-breaking": "off",
	}})
	file := filepath.Join(dir, ".htmlvalidate.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node, append([]string{validator, "--config", file, "--formatter", "text"}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%.6000s", err, out)
	}
}
