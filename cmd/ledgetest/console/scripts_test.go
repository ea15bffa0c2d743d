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

// scriptTables are the tables and inputs that the functions below read.
const scriptTables = `document.body.insertAdjacentHTML("beforeend", ` + "`" + `
	<table id="single" data-from="1000" data-to="9000"><tbody>
		<tr><td data-t="8000"></td><td data-v="3"></td></tr>
		<tr data-gap><td data-t="4000"></td><td data-v="2.5"></td></tr>
		<tr><td data-t="2000"></td><td data-v="-1"></td></tr>
	</tbody></table>
	<table id="sums" data-summed><tbody>
		<tr><td data-t="60000"></td><td></td><td data-v="1"></td><td data-v="2"></td><td data-v="3"></td></tr>
		<tr data-gap><td data-t="20000"></td><td></td><td data-v="4"></td><td data-v="5"></td><td data-v="6"></td></tr>
	</tbody></table>
	<table id="none"><tbody></tbody></table>
	<input id="typed" value="a"><input id="marked" type="checkbox"><select id="chosen"><option>a<option selected>b</select>
	<input id="kept" value="a"><input id="unseen" type="hidden" value="a"><input id="off" value="a" disabled>` + "`" + `);
	for (const id of ["typed", "unseen", "off"]) document.getElementById(id).value = "b";
	document.getElementById("marked").checked = true;
	document.getElementById("chosen").selectedIndex = 0;
	window.$ = id => document.getElementById(id);
	window.columns = id => ledge.chart.read($(id));
	window.whole = id => ledge.chart.wholeOf($(id), columns(id)[0]);
	window.axis = (step, ...times) => ledge.chart.axisTimes(times.map(t => Date.parse("2026-07-02T" + t + "Z") / 1000), step);
	window.changed = id => ledge.forms.isChanged($(id));
	window.key = (key, more) => Object.assign({key, ctrlKey: false, metaKey: false, altKey: false}, more);
	true`

// scriptResults are JSON texts of calls of the console's scripts, by the calls.
var scriptResults = []struct{ call, want string }{
	// stream.js: the topics that a message is for, and those of several pages.
	{`ledge.stream.changedKinds("devices=hall&readings=hall", "devices=hall")`, `["devices"]`},
	{`ledge.stream.changedKinds("devices=hall&readings=hall", "devices=hall&readings=hall")`, `["devices","readings"]`},
	{`ledge.stream.changedKinds("devices=hall", "devices=yard")`, `[]`},
	{`ledge.stream.changedKinds("devices&readings", "devices=&devices=hall")`, `["devices"]`},
	{`ledge.stream.changedKinds("devices", "devices=hall")`, `[]`}, // of another page
	{`ledge.stream.changedKinds("devices=a%26b%3Bc+d", "devices=a%26b%3bc%20d")`, `["devices"]`},
	{`ledge.stream.changedKinds("devices=hall&devices=yard", "devices=hall&devices=yard")`, `["devices"]`},
	{`ledge.stream.joinedTopics([])`, `""`},
	{
		`ledge.stream.joinedTopics([{live: "devices=hall&readings=hall"}, {live: "devices"}, {live: "devices=hall"}])`,
		`"devices=hall&readings=hall&devices="`,
	},
	{`ledge.stream.joinedTopics([{live: "devices=a%26b"}, {live: "devices=%C3%A4+x"}])`, `"devices=a%26b&devices=%C3%A4+x"`},

	// times.js, in a time zone with summer time.
	{`ledge.times.localInput("2026-01-02T10:00")`, `"2026-01-02T11:00"`},
	{`ledge.times.localInput("2026-07-02T22:30:15Z")`, `"2026-07-03T00:30:15"`},
	{`ledge.times.localInput("2026-03-29T01:00Z")`, `"2026-03-29T03:00"`}, // 02:00 does not exist
	{`ledge.times.localInput("")`, `""`},
	{`ledge.times.localInput("soon")`, `""`},
	{`ledge.times.utcInput("2026-01-02T00:30")`, `"2026-01-01T23:30"`},
	{`ledge.times.utcInput("2026-07-02T00:30:15")`, `"2026-07-01T22:30:15"`},
	{`ledge.times.utcInput("")`, `""`},
	{`[0, 4, 5, 59, 60, 3599, 3600, 172799].map(ledge.times.showAge)`, `["now","now","5 s","59 s","1 min","59 min","1 h","47 h"]`},
	{`[172800, 8639999, 8640000, 63071999, 63072000, -90].map(ledge.times.showAge)`, `["2 d","99 d","3 mo","24 mo","2 y","in 1 min"]`},
	{`ledge.times.show(new Date("2026-07-02T10:30:05Z"))`, `"2026-07-02 12:30:05"`},
	{`ledge.times.show(new Date("2026-12-31T23:30:05.999Z"))`, `"2027-01-01 00:30:05"`},
	{`ledge.times.show(new Date("soon"))`, `""`},
	{`/^Thu, .*2026.*12:30:05.*GMT.2$/.test(ledge.times.showFull(new Date("2026-07-02T10:30:05Z")))`, `true`},

	// forms.js
	{`["typed", "marked", "chosen"].map(changed)`, `[true,true,true]`},
	{`["kept", "unseen", "off"].map(changed)`, `[false,false,false]`},
	{`ledge.forms.wordsBefore("north, so", true)`, `"north, "`},
	{`ledge.forms.wordsBefore("so", true)`, `""`},
	{`ledge.forms.wordsBefore("pump is:do", false)`, `"pump "`},
	{`ledge.forms.hasWords("The Interval of resends", "RESENDS int")`, `true`},
	{`Object.values(ledge.forms.urlParts("https://till:8443/in?a=b"))`, `["https","till","8443","/in?a=b"]`},
	{`Object.values(ledge.forms.urlParts(" HTTP://till/ "))`, `["http","till","",""]`},
	{`Object.values(ledge.forms.urlParts("http://[::1]/in"))`, `["http","::1","","/in"]`},
	{`Object.values(ledge.forms.urlParts("mqtt://broker"))`, `["mqtt","broker","",""]`},
	{`["till", "till:9", "http://", "http://u:p@till", "http://till#in"].map(ledge.forms.urlParts)`, `[null,null,null,null,null]`},
	{`ledge.forms.hasWords("The Interval of resends", "interval mail")`, `false`},
	{`ledge.forms.hasWords("anything", "")`, `true`},

	// lists.js: the chips of a search, and the marks between two rows.
	{`ledge.lists.termsWithout([{title: "is:down"}, {title: "label:a"}, {title: "x"}], null)`, `"is:down label:a x"`},
	{`(c => ledge.lists.termsWithout(c, c[1]))([{title: "is:down"}, {title: "label:a"}, {title: "x"}])`, `"is:down x"`},
	{`(c => ledge.lists.termsWithout(c, c[0]))([{title: "is:down"}])`, `""`},
	{`ledge.lists.between([1, 2, 3, 4], 2, 4)`, `[2,3,4]`},
	{`ledge.lists.between([1, 2, 3, 4], 3, 1)`, `[1,2,3]`},
	{`ledge.lists.between([1, 2, 3, 4], null, 1)`, `[]`},

	// jump.js
	{`[key("/"), key("k", {ctrlKey: true}), key("K", {metaKey: true})].map(k => ledge.jump.opensBox(k, false))`, `[true,true,true]`},
	{`[key("k"), key("/", {altKey: true}), key("/", {ctrlKey: true})].map(k => ledge.jump.opensBox(k, false))`, `[false,false,false]`},
	{`[key("/"), key("k", {ctrlKey: true})].map(k => ledge.jump.opensBox(k, true))`, `[false,true]`},
	{`[0, 1, 2].map(at => ledge.jump.nextOption("ArrowDown", at, 3))`, `[1,2,0]`},
	{`[0, 1, 2].map(at => ledge.jump.nextOption("ArrowUp", at, 3))`, `[2,0,1]`},
	{`[ledge.jump.nextOption("ArrowUp", -1, 0), ledge.jump.nextOption("Enter", 0, 3)]`, `[-1,-1]`},

	// chart.js: the columns of a table, and ranges of times in seconds.
	{`columns("single")`, `[[2,3,4,8],[-1,null,2.5,3]]`},
	{`columns("sums")`, `[[20,60],[5,2],[4,1],[6,3]]`},
	{`columns("none")`, `[[],[]]`},
	{`whole("single")`, `[1,9]`},
	{`whole("sums")`, `[20,60]`},
	{`ledge.chart.wholeOf($("none"), [5])`, `[4,6]`},
	{`ledge.chart.zoomed([0, 100], [0, 100], 0.5, 0)`, `[25,75]`},
	{`ledge.chart.zoomed([25, 75], [0, 100], 2, 0)`, `null`},
	{`ledge.chart.zoomed([25, 75], [0, 100], 1, -0.5)`, `[0,50]`},
	{`ledge.chart.zoomed([0, 100], [0, 100], 1, 0.5)`, `[50,150]`},
	{`ledge.chart.zoomed([50, 50.002], [0, 100], 0.5, 0).map(t => t.toFixed(3))`, `["50.000","50.002"]`},
	{`[[7], [1, null, 2, 3, undefined, 4], [null], [1, 2]].map(ledge.chart.lone)`, `[[0],[0,5],[],[]]`},
	{`[1 / 3, 1e21, 0.1 + 0.2, null, undefined].map(ledge.chart.number)`, `["0.3333333333","1e+21","0.3","–","–"]`},
	{`axis(3600, "21:00", "22:00", "23:00")`, `["23:00\n2026-07-02","00:00\n2026-07-03","01:00"]`}, // in a zone two hours ahead
	{`axis(86400, "21:00", "22:00")`, `["2026-07-02","2026-07-03"]`},
	{`axis(15, "10:00:30")`, `["12:00:30\n2026-07-02"]`},
	{`axis(0.005, "10:00:30.005", "10:00:30.010")`, `["12:00:30.005\n2026-07-02","12:00:30.010"]`},
}

// TestConsoleScripts calls the functions of the console's scripts that need no server, in a browser.
func TestConsoleScripts(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Viewer)
	b.moveTo("Europe/Berlin")
	b.open("/system")
	ask[bool](b, `new Promise(done => ledge.loadScript("/static/stream.js", () => ledge.loadScript("/static/chart.js", () => done(true))))`)
	ask[bool](b, scriptTables)
	for _, one := range scriptResults {
		if got := ask[string](b, "JSON.stringify("+one.call+")"); got != one.want {
			t.Errorf("%s: got %s, want %s", one.call, got, one.want)
		}
	}
}

// moveTo has a tab in a time zone.
func (b *tab) moveTo(zone string) {
	b.Helper()
	b.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
		return chromedp.Void{}, err
	})
}

// TestConsoleTimeZone has tables and inputs in the time zone of the browser, also after a search.
func TestConsoleTimeZone(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.PostTo(p, "sample-image", "jpeg", "image/jpeg", drawn(0))
	b := logIn(p, t, domain.Auditor)
	b.moveTo("Asia/Kolkata")
	for _, path := range []string{"/readings", "/ledger", "/notifications"} {
		b.open(path + "?from=2026-11-02T10:00&to=")
		b.until(`document.querySelector("#zone").innerText.startsWith("Asia/")`)
		got := ask[string](b, `document.querySelector("#f-from").value + " " + document.querySelector("[for=f-from]").innerText`)
		if got != "2026-11-02T15:30 From (GMT+5:30)" {
			t.Errorf("%s: the input has %q, want local time", path, got)
		}
		ask[bool](b, `(e => { e.value = "2020-01-01T02:00"; e.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.querySelector("#f-from"))`)
		b.click("form.filters button")
		b.until(`location.search.includes("from=2019-12-31T20")`)
		b.until(`document.querySelector("#f-from")?.value === "2020-01-01T02:00"`)
	}
	b.open("/readings")
	b.until(`(t => /^20[0-9-]{8} [0-9:]{8}$/.test(t.innerText) && t.title.endsWith(" GMT+5:30"))(document.querySelector("#rows time"))`)
	plain := p.NewRole(t, domain.Auditor).Get("/readings?from=2020-01-01T02:00").Text
	for _, want := range []string{`From <span class="zone">(UTC)</span>`, `Times are in <span id="zone">UTC</span>`, " UTC</time>", `name="from" type="datetime-local" value="2020-01-01T02:00"`} {
		if !strings.Contains(plain, want) {
			t.Errorf("without a script there is no %s in\n%s", want, fmt.Sprintf("%.3000s", plain))
		}
	}
}
