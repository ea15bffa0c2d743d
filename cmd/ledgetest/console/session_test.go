package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// foreignSite is a site of another origin with one page. The name of this machine's address is another site than the address.
func foreignSite(t *testing.T, page string) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
}

// TestConsoleLinks opens a page of the console from a link of another site: who has logged in sees it.
func TestConsoleLinks(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	site := foreignSite(t, fmt.Sprintf(`<a id="link" href="%s/devices?q=x">device</a>`, p.Console))
	b := newTab(p, t)
	b.do(chromedp.Navigate(site), chromedp.Click(chromedp.CSS("#link")))
	b.see("#f-username")
	if at := b.path(); at != "/login?next=%2Fdevices%3Fq%3Dx" {
		t.Errorf("without a login the link leads to %s", at)
	}
	b = logIn(p, t, domain.Viewer)
	b.do(chromedp.Navigate(site), chromedp.Click(chromedp.CSS("#link")))
	b.until(`document.querySelector("h1")?.innerText === "Devices"`)
	if at := b.path(); at != "/devices?q=x" {
		t.Errorf("the link leads to %s", at)
	}
}

// TestConsoleForeignPages has pages of another site do what a page can: none gets a form through, and none shows the console in a frame.
func TestConsoleForeignPages(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Admin)
	site := foreignSite(t, fmt.Sprintf(`<form id="form" method="post" action="%[1]s/logout"><input name="a" value="b"></form>
		<iframe id="frame" src="%[1]s/account"></iframe>`, p.Console))
	b.do(chromedp.Navigate(strings.Replace(site, "localhost", "127.0.0.1", 1))) // another origin, but the same site: the browser sends the cookie
	b.until(`document.readyState === "complete"`)
	tree, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (cdppage.GetFrameTreeResult, error) {
		return cdp.Call(ctx, t, cdppage.GetFrameTree, cdp.Empty{})
	})
	if err != nil {
		t.Fatal(err)
	}
	frames := tree.FrameTree.ChildFrames
	if len(frames) != 1 || frames[0].Frame.MimeType == "text/html" && frames[0].Frame.UnreachableURL == "" {
		t.Errorf("the frame of another origin shows the page: %+v", frames[0].Frame)
	}
	if h := ledgetest.NewConsoleClient(p).Get("/login").Header; h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("browsers without Sec-Fetch-Site may show the console in a frame: %v", h)
	}
	b.do(chromedp.Navigate(site))
	b.until(`document.readyState === "complete"`)
	ask[bool](b, `fetch("`+p.Console+`/devices", {credentials: "include", mode: "no-cors"}).then(() => true, () => true)`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("form").submit()`))
	b.until(`location.pathname === "/logout"`)
	if text := b.text("body"); !strings.Contains(text, "a page of the origin") {
		t.Errorf("the foreign form was answered %q", text)
	}
	b.open("/devices")
	if title := ask[string](b, "document.title"); !strings.HasPrefix(title, "Devices · ") {
		t.Errorf("the foreign form has ended the session: %s", title)
	}
}

// TestConsoleSessionEnds ends a session while a form is open: its user logs in above the page, and the form is sent with what was entered.
func TestConsoleSessionEnds(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Viewer)
	b.open("/account")
	b.fill("#f-old", ledgetest.ConsolePassword, "#f-new", "another password", "#f-again", "something else")
	b.do(chromedp.Evaluate[chromedp.Void](`fetch("/logout", {method: "POST"})`, chromedp.EvalAwaitPromise))
	b.click("main button[type=submit]")
	b.see("#login-again")
	b.fill("#login-again [name=password]", "wrong")
	b.click("#login-again button[type=submit]")
	b.see("#login-again .wrong")
	b.fill("#login-again [name=username]", "test-viewer", "#login-again [name=password]", ledgetest.ConsolePassword)
	b.click("#login-again button[type=submit]")
	b.see("#f-again-error") // of the form as it was entered
	if at := b.path(); at != "/account/password" && at != "/account" {
		t.Errorf("after the login: at %s", at)
	}
}

// TestConsoleServerRestarts restarts the server under an open page: it says so, asks for a login, and shows what changed.
func TestConsoleServerRestarts(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Viewer)
	b.open("/devices")
	b.until(`document.readyState === "complete"`)
	p.AddDevice("before")
	b.until(`document.querySelector("main").innerText.includes("before")`) // the page is connected
	if code := p.Stop(); code != 0 {
		t.Fatal(code)
	}
	b.see("#connection")
	_, port, _ := strings.Cut(strings.TrimPrefix(p.Console, "http://"), ":")
	again := ledgetest.Start(t, p.Dir, "--console-port", port)
	b.see("#login-again")
	b.fill("#login-again [name=username]", "test-viewer", "#login-again [name=password]", ledgetest.ConsolePassword)
	b.click("#login-again button[type=submit]")
	b.until(`document.getElementById("connection").hidden`)
	again.AddDevice("after")
	b.until(`document.querySelector("main").innerText.includes("after")`)
}
