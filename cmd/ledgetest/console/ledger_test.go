package console

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsoleLedger follows a change onto the ledger, and the ledger to its end.
func TestConsoleLedger(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("hall")
	b := logIn(p, t, domain.Auditor)
	b.open("/ledger?kind=device")
	b.until(`document.querySelector("#rows").innerText.includes("hall")`)
	ledgetest.DescribeDevice(p, "hall", hostile)
	b.until(`document.querySelector("#rows").innerText.includes("device.updated")`) // without a reload
	b.click("#rows tbody tr:first-child a")
	b.until(`!!document.querySelector("ins.is")`)
	if is := b.text("ins.is"); is != hostile {
		t.Errorf("the difference shows %q, want %q", is, hostile)
	}
	for _, text := range []string{"Chain hash", "anonymous@127.0.0.1", "Ledge-Chain"} {
		if !strings.Contains(ask[string](b, `document.querySelector("main").textContent`), text) {
			t.Errorf("the event's page lacks %q", text)
		}
	}
	if chain := ask[string](b, `[...document.querySelectorAll("dd.mono")].map(e => e.innerText).find(s => /^[0-9a-f]{64}$/.test(s)) || ""`); chain == "" {
		t.Error("the event's page has no chain hash")
	}
	b.click("a[rel=prev]")
	b.until(`!document.querySelector("ins.is")`)
	b.open("/verify")
	const says = "It only reads, and the server keeps running. Only if it finds damage in a log, the server stops"
	if !strings.Contains(b.text("main"), says) {
		t.Errorf("the page does not say %q", says)
	}
	b.click("main form button")
	b.until(`document.querySelector("#verification").innerText.includes("No damage found")`)
	if text := b.text("#verification"); !strings.Contains(text, "user:test-auditor") || !strings.Contains(text, "readings") {
		t.Errorf("the result of the verification is %q", text)
	}
	b.picture("verified")
}

var seqsOf = regexp.MustCompile(`<a href="/ledger/changes/(\d+)">\d+</a></th>`)

// ledgerRowsOf are the sequences that a page of the ledger lists.
func ledgerRowsOf(text string) (seqs []string) {
	for _, m := range seqsOf.FindAllStringSubmatch(text, -1) {
		seqs = append(seqs, m[1])
	}
	return seqs
}

// TestConsoleLedgerFilters holds filters and positions to what is on the log, and each request to a bounded number of events.
func TestConsoleLedgerFilters(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("first")
	for n := range 5 {
		var batch []string
		for i := range 500 {
			batch = append(batch, ledgetest.DeviceJSON(fmt.Sprintf("d-%d-%d", n, i)))
		}
		p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", "["+strings.Join(batch, ",")+"]")
	}
	p.AddConsoleUser(t, domain.Auditor)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-auditor", ledgetest.ConsolePassword)
	get := func(path string) (rows []string, next, text string) {
		got := c.Get(path)
		if got.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s\n%s", path, got.Status, got.Text)
		}
		if m := regexp.MustCompile(`<a href="([^"]+)" rel="next">`).FindStringSubmatch(got.Text); m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
		return ledgerRowsOf(got.Text), next, got.Text
	}
	rows, next, text := get("/ledger")
	if len(rows) != 50 || next == "" {
		t.Fatalf("the first page has %d rows and goes on at %q", len(rows), next)
	}
	if n := strings.Count(text, `<option value="device.updated">`); n != 1 {
		t.Errorf("the filter offers the type device.updated %d times, want once", n)
	}
	seen := map[string]bool{}
	for path := "/ledger"; path != ""; {
		rows, next, _ := get(path)
		for _, row := range rows {
			if seen[row] {
				t.Fatalf("event %s is listed twice", row)
			}
			seen[row] = true
		}
		path = next
	}
	last := c.Get("/ledger")
	if want := ledgerRowsOf(last.Text)[0]; fmt.Sprint(len(seen)) != want {
		t.Errorf("%d events are listed, want %s", len(seen), want)
	}
	rows, next, text = get("/ledger?kind=device&name=first")
	if len(rows) != 0 || next == "" || !strings.Contains(text, "Look further back") || !strings.Contains(text, "1500 events") {
		t.Errorf("a rare name is found at once: %v, next %q", rows, next)
	}
	if rows, _, _ = get(next); len(rows) != 1 {
		t.Errorf("further back there are %v", rows)
	}
	rows, next, _ = get("/ledger?kind=device&name=first&exact=true")
	if len(rows) != 1 || next != "" {
		t.Errorf("the whole name finds %v, and the search continues at %q", rows, next)
	}
	for filter, want := range map[string]bool{
		"name=FIR": false, "type=DEVICE.ADD": true,
		"kind=device&name=d-4-499&exact=true": true, "kind=device&name=d-4-500&exact=true": false,
		"actor=cli": true, "actor=cli&kind=user": true, "actor=cli&kind=device": false, "type=user.added": true, "from=2000-01-01": true,
		"to=2000-01-01": false, "from=2100-01-01": false, "to=2100-01-01T10:00": true, "name=test-auditor": true, "type=%3Cscript%3E": false,
	} {
		if rows, _, text := get("/ledger?" + filter); len(rows) > 0 != want {
			t.Errorf("%s: %d rows, want some: %v", filter, len(rows), want)
		} else if strings.Contains(text, "<script>") {
			t.Errorf("%s is not text", filter)
		}
	}
	if got := c.Get("/ledger?from=yesterday"); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.Text, "f-from-error") {
		t.Errorf("a time that is none: %s", got.Status)
	}
	for _, path := range []string{"/ledger/changes/0", "/ledger/changes/999999", "/ledger/other/1", "/ledger/changes/x"} {
		if got := c.Get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}

// TestConsoleLargeEvent shows the beginning of an event that is too long for a page, and lists events that are too many bytes to hold.
func TestConsoleLargeEvent(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("hall")
	for i := range 8 {
		body := fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"hall","description":"%d%s"}}]`, i, strings.Repeat("x", 3<<20))
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", body, http.StatusOK)
	}
	p.AddConsoleUser(t, domain.Auditor)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-auditor", ledgetest.ConsolePassword)
	rows := ledgerRowsOf(c.Get("/ledger?name=hall").Text)
	if len(rows) != 9 {
		t.Fatalf("the events of the device are %v, want 9", rows)
	}
	got := c.Get("/ledger/changes/" + rows[0])
	if got.StatusCode != http.StatusOK || !strings.Contains(got.Text, "the beginning is shown") {
		t.Errorf("a long event: %s", got.Status)
	}
	if n := strings.Count(got.Text, "x"); n > 300<<10 {
		t.Errorf("the page of a long event has %d of its characters", n)
	}
}
