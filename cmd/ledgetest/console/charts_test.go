package console

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// postSeries posts n values of a resource of the profile hall-sensor, the last at a time and the others a step apart before it.
func postSeries(
	p *ledgetest.Node, device, resource, valueType string, n int, last time.Time, step time.Duration, value func(i int) string,
) {
	p.TB.Helper()
	const atOnce = 250
	for from := 0; from < n; from += atOnce {
		var readings []string
		for i := from; i < min(n, from+atOnce); i++ {
			readings = append(readings, fmt.Sprintf(
				`{"origin":%d,"deviceName":%q,"profileName":"hall-sensor","resourceName":%q,"valueType":%q,"units":"°C","value":%q}`,
				last.Add(-time.Duration(n-1-i)*step).UnixNano(), device, resource, valueType, value(i)))
		}
		body := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":%q,"profileName":"hall-sensor",`+
			`"sourceName":"all","origin":%d,"readings":[%s]}}`,
			uuid.NewString(), device, last.UnixNano(), strings.Join(readings, ","))
		a := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/hall-sensor/"+device+"/all", "application/json", body)
		if a.Status != http.StatusCreated {
			p.TB.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
}

// TestConsoleCharts looks at charts of values and of sums, zooms with the mouse and the keyboard, and follows new values.
func TestConsoleCharts(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	now := time.Now()
	wave := func(i int) string { return fmt.Sprint(20 + float64(i*i%37)/8) }
	postSeries(p, "hall-1", "temperature", "Float64", 1500, now.Add(-26*time.Hour), time.Minute, wave)
	postSeries(p, "hall-1", "temperature", "Float64", 40, now.Add(-12*time.Hour), time.Minute, wave)
	postSeries(p, "hall-1", "temperature", "Float64", 60, now.Add(-time.Minute), time.Minute, wave)
	postSeries(p, "hall-1", "people", "Uint16", 30, now.Add(-2*time.Minute), 10*time.Minute, func(i int) string {
		return fmt.Sprint(i % 7)
	})
	b := logIn(p, t, domain.Operator)
	b.open("/devices/hall-1")
	b.click("a[href='/devices/hall-1/chart']")
	b.until(`document.querySelectorAll("#charts canvas").length === 1`) // the first resource with numbers, of 24 hours
	rows := b.readText("#series-0 caption") + ask[string](b, `" " + document.querySelectorAll("#series-0 [data-gap]").length`)
	if rows != "100 values 1" {
		t.Errorf("24 hours: the table has %s, want 100 values with 1 gap", rows)
	}
	b.pictures("chart-day")
	// A page with two charts, of all times: the first has sums.
	b.click("input[value=people]")
	b.click(".chart-form button[type=submit]")
	b.until(`document.querySelectorAll("#charts canvas").length === 2`)
	b.click("nav[aria-label=Time] a:last-child")
	b.until(`location.search.includes("span=all") && document.querySelectorAll("#charts canvas").length === 2`)
	if caption := b.readText("#series-0 caption"); !strings.HasPrefix(caption, "1600 values in stretches of 7.6 minutes") {
		t.Errorf("all: the caption is %q", caption)
	}
	if gaps := ask[int](b, `document.querySelectorAll("#series-0 [data-gap]").length`); gaps != 2 {
		t.Errorf("all: %d gaps, want 2", gaps)
	}
	b.pictures("chart-all")
	// New values arrive, and the zoom stays.
	b.do(chromedp.Focus(chromedp.CSS("#charts .chart > div")))
	b.do(chromedp.KeyEvent("+"))
	b.see(".chart-tools .detail")
	zoomed := shownTimes(b)
	before := ask[string](b, `document.querySelector(".chart-tools .detail").href`)
	ledgetest.PostTo(p, "hall-1", "people", "text/plain", "77")
	b.until(`document.querySelector("#series-1 tbody td + td").textContent === "77"`)
	if after := ask[string](b, `document.querySelector(".chart-tools .detail").href`); after != before {
		t.Errorf("a new value changes the time that is shown from %s to %s", before, after)
	}
	if now := shownTimes(b); now != zoomed {
		t.Errorf("a new value moves the charts from %v to %v", zoomed, now)
	}
	b.do(chromedp.KeyEvent("0"))
	b.until(`document.querySelector(".chart-tools .detail").hidden`)
	whole := shownTimes(b)
	b.dragOver("#charts .u-over", 0.25, 0.5)
	b.until(`!document.querySelector(".chart-tools .detail").hidden`)
	if dragged := shownTimes(b); math.Abs((dragged[1]-dragged[0])/(whole[1]-whole[0])-0.25) > 0.02 || dragged[0] <= whole[0] {
		t.Errorf("a drag over a quarter of %v shows %v", whole, dragged)
	}
	b.do(chromedp.DoubleClick(chromedp.CSS("#charts .u-over")))
	b.until(`document.querySelector(".chart-tools .detail").hidden`)
	b.do(chromedp.Focus(chromedp.CSS("#charts .chart > div")))
	b.do(chromedp.KeyEvent(kb.End))
	b.until(`/, mean of \d/.test(document.querySelector(".chart [aria-live]").textContent)`)
	last := b.readText(".chart [aria-live]")
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.until(`document.querySelector(".chart [aria-live]").textContent !== ` + jsText(last))
	// The part that is shown is loaded with its own values.
	b.do(chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	b.click(".chart-tools .detail")
	b.until(`location.search.includes("from=") && document.querySelectorAll("#charts canvas").length === 2`)
	b.until(`document.querySelector("#f-from").value !== ""`)
	// Without scripts, and for unknown names.
	viewer := p.NewRole(t, domain.Viewer)
	for path, want := range map[string]string{
		"/devices/hall-1/chart?resource=people&span=1h":                                    "<caption>7 values</caption>",
		"/devices/hall-1/chart?resource=nosuch":                                            "There are no values of this time.",
		"/devices/hall-1/chart?resource=people&from=2020-01-01T00:00&to=2020-01-02T00:00":  "The newest value is of <time",
		"/devices/hall-1/chart?resource=" + strings.Repeat("a&resource=", 9) + "b&span=7d": "Charts of hall-1",
		"/devices/hall-1/chart?span=" + hostileQuery:                                       "Charts of hall-1",
	} {
		if page := viewer.Get(path); page.StatusCode != http.StatusOK || !strings.Contains(page.Text, want) {
			t.Errorf("%s: got %d without %q", path, page.StatusCode, want)
		}
	}
	page := viewer.Get("/devices/hall-1/chart?resource=people&from=yesterday")
	if page.StatusCode != http.StatusUnprocessableEntity || strings.Contains(page.Text, "Choose a resource") {
		t.Errorf("a wrong time: got %d, or the page asks for the resource that is chosen", page.StatusCode)
	}
	if page := viewer.Get("/devices/nosuch/chart"); page.StatusCode != http.StatusNotFound {
		t.Errorf("no such device: got %d", page.StatusCode)
	}
}

// shownTimes are the first and the last time of the charts, in seconds. All charts show the same.
func shownTimes(b *tab) (times [2]float64) {
	b.Helper()
	all := ask[[]string](b, `[...document.querySelectorAll("#charts .chart")].map(e => e.dataset.shown)`)
	for _, one := range all {
		if one != all[0] {
			b.Errorf("the charts show different times: %q", all)
		}
	}
	if _, err := fmt.Sscan(all[0], &times[0], &times[1]); err != nil {
		b.Fatal(err)
	}
	return times
}

// dragOver drags the mouse over an element, from one part of its width to another.
func (b *tab) dragOver(css string, from, to float64) {
	b.Helper()
	at := ask[[]float64](b, `(e => {
		e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect();
		return [r.x, r.width, r.y + r.height / 2];
	})(document.querySelector(`+jsText(css)+`))`)
	for _, step := range []struct {
		kind  input.DispatchMouseEventType
		part  float64
		press input.MouseButton
	}{
		{input.DispatchMouseEventTypeMouseMoved, from, input.MouseButtonNone},
		{input.DispatchMouseEventTypeMousePressed, from, input.MouseButtonLeft},
		{input.DispatchMouseEventTypeMouseMoved, (from + to) / 2, input.MouseButtonLeft},
		{input.DispatchMouseEventTypeMouseMoved, to, input.MouseButtonLeft},
		{input.DispatchMouseEventTypeMouseReleased, to, input.MouseButtonLeft},
	} {
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: step.kind, X: at[0] + step.part*at[1], Y: at[2], Button: step.press, ClickCount: 1,
			})
			return err
		}))
	}
}

const hostileQuery = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"

// readText returns the text of an element that may be hidden.
func (b *tab) readText(css string) string {
	b.Helper()
	return ask[string](b, "document.querySelector("+jsText(css)+").textContent")
}

// TestConsoleCSV saves readings of some pages of core-data as one file.
func TestConsoleCSV(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	now := time.Now()
	postSeries(p, "hall-1", "temperature", "Float64", 2100, now.Add(-time.Minute), time.Second, func(i int) string { return fmt.Sprint(i) })
	ledgetest.PostTo(p, "hall-1", "note", "text/plain", "=1+1")
	viewer := p.NewRole(t, domain.Viewer)
	saved := func(query string) [][]string {
		t.Helper()
		page := viewer.Get("/readings/csv" + query)
		text, marked := strings.CutPrefix(page.Text, "\ufeff")
		if page.StatusCode != http.StatusOK || !marked {
			t.Fatalf("%s: got %d %v", query, page.StatusCode, page.Header)
		}
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || strings.Join(rows[0], ",") != "time,deviceName,resourceName,value,units,valueType,mediaType,origin,id" {
			t.Fatalf("%s: %v in %.300s", query, err, text)
		}
		return rows[1:]
	}
	rows := saved("?device=hall-1&resource=temperature")
	for i, row := range rows {
		if want := fmt.Sprint(2099 - i); len(rows) != 2100 || !sameNumber(row[3], want) {
			t.Fatalf("row %d of %d has the value %s, want %s", i, len(rows), row[3], want)
		}
	}
	if rows := saved("?resource=note"); len(rows) != 1 || rows[0][3] != "'=1+1" {
		t.Errorf("the note is %q", rows)
	}
	if rows := saved("?device=nosuch"); len(rows) != 0 {
		t.Errorf("no device has %q", rows)
	}
	from, to := now.Add(-time.Minute-10*time.Second), now.Add(-time.Minute-5*time.Second)
	within := "&from=" + from.UTC().Format(time.RFC3339Nano) + "&to=" + to.UTC().Format(time.RFC3339Nano)
	if rows := saved("?device=hall-1" + within); len(rows) != 6 {
		t.Errorf("of 5 seconds: %d rows, want 6", len(rows))
	}
	for query, want := range map[string]string{
		"":                                    "attachment; filename=readings.csv",
		"?device=hall-1":                      "attachment; filename=readings-hall-1.csv",
		"?device=hall-1&resource=temperature": "attachment; filename=readings-hall-1-temperature.csv",
		"?device=%E6%B8%A9%22%0d%0aX%3a%20y":  "attachment; filename*=utf-8''readings-%E6%B8%A9%22%0D%0AX%3A%20y.csv",
	} {
		if got := viewer.Get("/readings/csv" + query).Header.Get("Content-Disposition"); got != want {
			t.Errorf("%s: the file is %s, want %s", query, got, want)
		}
	}
	if page := viewer.Get("/readings/csv?from=never"); page.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a wrong time: got %d", page.StatusCode)
	}
	if page := viewer.Get("/readings?device=hall-1"); !strings.Contains(page.Text, `href="/readings/csv?device=hall-1"`) {
		t.Error("the list of readings has no link to the file")
	}
}

func sameNumber(got, want string) bool {
	var a, b float64
	_, _ = fmt.Sscan(got, &a)
	_, _ = fmt.Sscan(want, &b)
	return a == b
}
