package console

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsoleLoginAgain ends the session of an open live page: it asks for a login without a click.
func TestConsoleLoginAgain(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Viewer)
	b.open("/devices")
	b.do(chromedp.Evaluate[chromedp.Void](`fetch("/logout", {method: "POST"})`, chromedp.EvalAwaitPromise))
	p.AddDevice("changed") // which the page would show
	b.see("#login-again")
}

// TestConsoleCookies looks at the cookie under TLS: it has the prefix __Host-, so that no other site and no plain page can set it.
func TestConsoleCookies(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	s.AddConsoleUser(t, domain.Viewer)
	c := ledgetest.NewConsoleClient(s.Node)
	c.Client.Transport = s.Client.Transport
	c.Login(t, "test-viewer", ledgetest.ConsolePassword)
	k := c.Cookie
	isHost := strings.HasPrefix(k.Name, "__Host-ledge-session-") && k.Secure && k.Path == "/" && k.Domain == ""
	if !isHost || !k.HttpOnly || k.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %s", k)
	}
	if got := c.Get("/system/api/core-metadata/docs"); got.StatusCode != http.StatusOK || !strings.Contains(got.Text, "swagger") {
		t.Errorf("the page of an API in secure mode: %s", got.Status)
	}
	if got := c.Get("/devices"); got.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: %s", got.Status)
	}
	rest := *c
	rest.Base = s.Metadata
	if got := rest.Get("/api/v2/device/all"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("a REST port takes the cookie of the console: %s", got.Status)
	}
	insecure := *c
	insecure.Cookie = &http.Cookie{Name: strings.TrimPrefix(k.Name, "__Host-"), Value: k.Value}
	if got := insecure.Get("/devices"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("with the cookie's value under another name: %s", got.Status)
	}
}

// TestConsoleKeyboard logs in, onboards a device and adds a user with the keyboard only.
func TestConsoleKeyboard(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	p.AddConsoleUser(t, domain.Admin)
	b := newTab(p, t)
	b.open("/login")
	press := func(keys string) { b.do(chromedp.KeyEvent(keys)) }
	// tabTo presses Tab until the focus is on an element.
	tabTo := func(css string) {
		for range 60 {
			press("\t")
			if ask[bool](b, "!!document.activeElement && document.activeElement.matches("+jsText(css)+")") {
				if !ask[bool](b, `document.activeElement.matches(":focus-visible")`) {
					t.Errorf("the focus on %s is not visible", css)
				}
				return
			}
		}
		t.Fatalf("Tab does not reach %s", css)
	}
	tabTo("#f-username")
	press("test-admin")
	tabTo("#f-password")
	press(ledgetest.ConsolePassword)
	press("\r")
	b.until(`!!document.querySelector("#overview")`)
	tabTo(".skip")
	press("\r")
	b.until(`document.activeElement?.id === "main"`)
	b.open("/devices")
	ask[int](b, `htmx.config.defaultSettleDelay = 2000`) // as under load: the user is in a form before htmx is done with the page
	tabTo("a[href='/devices/+add']")
	press("\r")
	b.until(`location.pathname === "/devices/+add"`)
	tabTo("#f-name")
	b.until(`!document.querySelector(".htmx-settling")`)
	if at := ask[string](b, `document.activeElement.id`); at != "f-name" {
		t.Errorf("when the page has settled, the focus is on %q, want it where the user is: f-name", at)
	}
	press("hall-1")
	tabTo("#f-profileName")
	press("hall-sensor")
	tabTo("main button[type=submit]")
	press("\r")
	b.until(`location.pathname === "/devices/hall-1"`)
	b.open("/")
	tabTo("nav a[href='/users']")
	press("\r")
	b.until(`document.querySelector("h1")?.innerText === "Users and tokens"`)
	b.until(`!document.querySelector(".htmx-settling")`) // before that, the browser would send the form and load a document
	tabTo("details:has([action='/users']) summary")
	press("\r")
	tabTo("#f-name")
	press("anna")
	tabTo("#f-new-password")
	press(ledgetest.ConsolePassword)
	press("\r")
	b.until(`document.querySelector("#users")?.innerText.includes("anna")`)
	b.until(`document.activeElement?.id === "main"`) // a new page begins there
	tabTo("form[action='/logout'] button")
	press("\r")
	b.until(`location.pathname === "/login"`)
}

// TestConsoleLiveConnections opens fifty streams: each is told of a change of what its pages show, and of nothing else.
func TestConsoleLiveConnections(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("hall")
	c := p.NewRole(t, domain.Viewer)
	ctx, end := context.WithCancel(t.Context())
	var all []<-chan string
	for range 50 {
		told, status, err := c.Listen(ctx, "devices=hall")
		if err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
		all = append(all, told)
	}
	p.AddDevice("other")
	ledgetest.DescribeDevice(p, "hall", "changed")
	for _, told := range all {
		if got := <-told; got != "devices=hall" {
			t.Errorf("a page is told of %q", got)
		}
	}
	end()
	for _, told := range all {
		for got := range told {
			t.Errorf("a page is told twice, of %q", got)
		}
	}
}

// TestConsoleTooManyBrowsers opens as many streams as there may be. A page of one more browser says so, and not that the server is away. It
// shows changes when others are closed.
func TestConsoleTooManyBrowsers(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b, c := logIn(p, t, domain.Viewer), p.NewRole(t, domain.Viewer)
	b.open("/system") // which has no live part
	ctx, end := context.WithCancel(t.Context())
	defer end()
	for n, status := 0, http.StatusOK; status == http.StatusOK; n++ {
		var err error
		if _, status, err = c.Listen(ctx, "devices="); err != nil || n > 300 {
			t.Fatal(n, err)
		}
	}
	b.open("/devices")
	b.until(`document.getElementById("connection").textContent.startsWith("Too many browsers")`)
	end()
	b.until(`document.getElementById("connection").hidden`)
	p.AddDevice("gate-1")
	b.until(`document.querySelector("main").innerText.includes("gate-1")`)
}
