package console

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsoleTimeZone has tables and inputs in the time zone of the browser, also after a search.
func TestConsoleTimeZone(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.PostTo(p, "sample-image", "jpeg", "image/jpeg", drawn(0))
	b := logIn(p, t, domain.Auditor)
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
		return chromedp.Void{}, err
	})
	for _, path := range []string{"/readings", "/ledger", "/notifications"} {
		b.open(path + "?from=2026-11-02T10:00&to=")
		b.until(`document.querySelector("#zone").innerText.startsWith("Asia/")`)
		if got := ask[string](b, `document.querySelector("#f-from").value + " " + document.querySelector("[for=f-from]").innerText`); got != "2026-11-02T15:30 From (GMT+5:30)" {
			t.Errorf("%s: the input has %q, want local time", path, got)
		}
		ask[bool](b, `(e => { e.value = "2020-01-01T02:00"; e.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.querySelector("#f-from"))`)
		b.click("form.filters button")
		b.until(`location.search.includes("from=2019-12-31T20")`)
		b.until(`document.querySelector("#f-from")?.value === "2020-01-01T02:00"`)
	}
	b.open("/readings")
	b.until(`/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), /.test(document.querySelector("#rows time").innerText)`)
	plain := p.NewRole(t, domain.Auditor).Get("/readings?from=2020-01-01T02:00").Text
	for _, want := range []string{`From <span class="zone">(UTC)</span>`, `Times are in <span id="zone">UTC</span>`, " UTC</time>", `name="from" type="datetime-local" value="2020-01-01T02:00"`} {
		if !strings.Contains(plain, want) {
			t.Errorf("without a script there is no %s in\n%s", want, fmt.Sprintf("%.3000s", plain))
		}
	}
}
