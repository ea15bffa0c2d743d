package console

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// browserProcess is the one browser of all tests of the console; each test has cookies of its own in it. It is nil where there is none.
var browserProcess = sync.OnceValues(func() (context.Context, error) {
	path := ledgetest.FindBrowser()
	if path == "" {
		return nil, nil
	}
	ctx, stop := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.IgnoreCertErrors))
	ledgetest.AtEnd = append(ledgetest.AtEnd, stop)
	return ctx, chromedp.Do(ctx)
})

// tab is a page in a browser. Its methods fail the test.
type tab struct {
	testing.TB
	ctx  context.Context
	base string
}

// newTab returns a tab of a browser without cookies, for the console of p. What it waits for must come within hangs.
func newTab(p *ledgetest.Node, tb testing.TB) *tab {
	tb.Helper()
	browser, err := browserProcess()
	if err != nil {
		tb.Fatal(err)
	}
	if browser == nil {
		tb.Skip("no browser is installed: Debian's package chromium-headless-shell or chromium")
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	tb.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context of the first step
		tb.Fatal(err)
	}
	return &tab{tb, ctx, p.Console}
}

// window returns another window of the same browser, with the same cookies.
func (b *tab) window() *tab {
	b.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewWindow(true))
	b.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // the window lives as long as the context of the first step
		b.Fatal(err)
	}
	return &tab{b.TB, ctx, b.base}
}

// runBefore runs a script in each page that is opened from now on, before the page's own scripts.
func (b *tab) runBefore(script string) {
	b.Helper()
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return chromedp.Void{}, err
	})
}

// do takes steps one after another.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, ledgetest.Timeout)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fail(err)
	}
}

func (b *tab) fail(err error) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, ledgetest.Timeout)
	defer stop()
	at, _ := chromedp.Run(ctx, chromedp.Location())
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	b.Fatalf("%v at %s, which shows:\n%s", err, at, text)
}

// ask returns the value of a JavaScript expression.
func ask[T any](b *tab, expression string) T {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, ledgetest.Timeout)
	defer stop()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fail(err)
	}
	return value
}

// open loads a page, and waits until its scripts have run.
func (b *tab) open(path string) { b.Helper(); b.do(chromedp.Navigate(b.base + path)) }

// see waits until an element is shown.
func (b *tab) see(css string) {
	b.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(css)))
}

// until waits until a JavaScript expression is true.
func (b *tab) until(expression string) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, ledgetest.Timeout)
	defer stop()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression))
		switch {
		case err == nil:
			return
		case ctx.Err() == nil && (strings.Contains(err.Error(), "context with specified id") || strings.Contains(err.Error(), "target navigated")): // the page went while it was asked
		default:
			b.fail(err)
		}
	}
}

// fill puts values into inputs, as pairs of a selector and a value.
func (b *tab) fill(pairs ...string) {
	b.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		b.do(chromedp.WaitVisible(chromedp.CSS(pairs[i])), chromedp.SetValue(chromedp.CSS(pairs[i]), pairs[i+1]))
	}
}

// click clicks an element once it stays where it is: a part of the page above it may be loading.
func (b *tab) click(css string) {
	b.Helper()
	b.until(`(async () => {
		const place = () => JSON.stringify(document.querySelector(` + jsText(css) + `)?.getBoundingClientRect());
		const before = place();
		await new Promise(after => setTimeout(after, 50));
		return before !== undefined && before === place();
	})()`)
	b.do(chromedp.Click(chromedp.CSS(css)))
}

// dropFile drags a file from outside the browser onto an element.
func (b *tab) dropFile(css, file string) {
	b.Helper()
	at := ask[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector(`+jsText(css)+`).getBoundingClientRect())`)
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, input.DispatchDragEvent, input.DispatchDragEventParams{
				Type: kind, X: at[0], Y: at[1], Data: &input.DragData{Items: []*input.DragDataItem{}, Files: []string{file}, DragOperationsMask: 1},
			})
			return err
		}))
	}
}

// text returns what an element shows.
func (b *tab) text(css string) string {
	b.Helper()
	b.see(css)
	return ask[string](b, "document.querySelector("+jsText(css)+").innerText")
}

// path returns where the tab is, below the console.
func (b *tab) path() string {
	b.Helper()
	return strings.TrimPrefix(ask[string](b, "location.href"), b.base)
}

func jsText(text string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(text) + "`"
}

// picture takes a picture of the page for docs/reference/console.md, where TEST_LEDGE_PICTURES names a folder.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("TEST_LEDGE_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		b.Fatal(err)
	}
}

// logIn returns a tab in which the user test-ROLE has logged in.
func logIn(p *ledgetest.Node, tb testing.TB, role domain.Role) *tab {
	tb.Helper()
	b := newTab(p, tb)
	p.AddConsoleUser(tb, role)
	b.open("/login")
	b.fill("#f-username", "test-"+string(role), "#f-password", ledgetest.ConsolePassword)
	b.click("main button[type=submit]")
	b.see(".me")
	return b
}
