package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/store"
)

// TestLogOfUndecodable holds that an event that is skipped is printed as such, and an update with what it changes.
func TestLogOfUndecodable(t *testing.T) {
	for _, c := range []struct{ kind, data, text, json string }{
		{"device.added/1", `{"device":1}`, "UNDECODABLE, skipped: decode device.added/1", `"undecodable":"decode device.added/1`},
		{"device.updated/2", `{"changes":{"labels":{"is":["a"]},"adminState":{"was":"DOWN","is":"UP"}}}`, "adminState: DOWN → UP, labels: nothing → [\"a\"]", `"changes":{`},
		{"device.updated/1", `{"changed":["labels","location"],"device":{"name":"d"}}`, "changed labels, location\n", `"changed":[`},
	} {
		m := store.Message{Seq: 7, Subject: "ledge.event.device.d.x", Header: store.Header{{Name: "ce-type", Value: c.kind}, {Name: "ce-subject", Value: "device/d/x"}}, Data: []byte(c.data)}
		for asJSON, want := range map[bool]string{false: c.text, true: c.json} {
			var out bytes.Buffer
			if err := (printer{&out, asJSON}).print(m); err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("got %s, %v, want %s", out.String(), err, want)
			}
		}
	}
}

// TestLogEscapesUnseen holds that no character of an event steers the terminal that `ledge log --json` prints to.
func TestLogEscapesUnseen(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.addDevice("cam")
	p.postJSON(http.MethodPatch, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam","description":"a\u009b31m\u202eb\u007fc"}}]`, http.StatusOK)
	out, errs, code := ledge(t, "log", "--json", "--data-dir", p.dir)
	if code != exit.OK || strings.ContainsAny(out, "\u009b\u202e\u007f") || !strings.Contains(out, `a\u009b31m\u202eb\u007fc`) {
		t.Errorf("%d %s %q", code, errs, out)
	}
}

// A line shows what an event has changed, cut at a bound, and nothing in it steers a terminal.
func TestChangesText(t *testing.T) {
	t.Parallel()
	index := 2
	many := domain.Changes{}
	for i := range mostShown + 3 {
		many[fmt.Sprintf("f%02d", i)] = domain.Difference{Is: json.RawMessage("1")}
	}
	value := func(text string) json.RawMessage { b, _ := json.Marshal(text); return b }
	for want, changes := range map[string]domain.Changes{
		"adminState: UNLOCKED → LOCKED": {"adminState": {Was: value("UNLOCKED"), Is: value("LOCKED")}},
		"labels[2]: nothing → [\"a\"], protocols.other.Address: a → nothing": {
			"labels": {At: &index, Is: json.RawMessage(`["a"]`)}, "protocols": {In: domain.Changes{"other": {In: domain.Changes{"Address": {Was: value("a")}}}}},
		},
		"description: a\\u000ab\\u001b[31m\\u202e → " + strings.Repeat("é", mostValueRunes) + "…": {
			"description": {Was: value("a\nb\x1b[31m\u202e"), Is: value(strings.Repeat("é", mostValueRunes+1))},
		},
		"f00: nothing → 1, f01: nothing → 1, f02: nothing → 1, f03: nothing → 1, f04: nothing → 1, f05: nothing → 1, f06: nothing → 1, f07: nothing → 1, and 3 more": many,
	} {
		if got := changesText(changes); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestDocumentedAudit asks who locked a device with the command of docs/audit.md, and in the console's ledger.
func TestDocumentedAudit(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	for _, name := range []string{"cam-1", "cam-2"} {
		p.addDevice(name)
		p.postJSON(http.MethodPatch, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"`+name+`","adminState":"LOCKED"}}]`, http.StatusOK)
	}
	_, rest, _ := strings.Cut(mustRead(t, "../../docs/audit.md"), "Who locked `cam-1` on Tuesday")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	command, _, ok := strings.Cut(rest, "\n```")
	if !ok || !strings.Contains(command, "2026-11-24") || !strings.Contains(command, "2026-11-25") {
		t.Fatalf("docs/audit.md has no command: %q", command)
	}
	sh := p.shell(t)
	run := func(since, until time.Time) string {
		return sh.run(strings.NewReplacer("2026-11-24", since.Format(time.DateOnly), "2026-11-25", until.Format(time.DateOnly), "ledge log", "bin/ledge log").Replace(command))
	}
	today := time.Now()
	const want = "device cam-1 updated  by anonymous@127.0.0.1 from 127.0.0.1:"
	if out := run(today, today.AddDate(0, 0, 2)); strings.Count(out, "\n") != 2 || !strings.Contains(out, want) || !strings.Contains(out, "  adminState: UNLOCKED → LOCKED\n") {
		t.Errorf("%s prints\n%s", command, out)
	}
	if out := run(today.AddDate(0, 0, -2), today.AddDate(0, 0, -1)); out != "" {
		t.Errorf("two days before it prints\n%s", out)
	}
	p.addConsoleUser(t, domain.Auditor)
	c := newConsoleClient(p)
	c.login(t, "test-auditor", consolePassword)
	if got := c.get("/ledger?kind=device&name=cam-1"); !strings.Contains(got.text, `<td data-label="Detail">adminState: UNLOCKED → LOCKED</td>`) {
		t.Errorf("the console's ledger does not show the change:\n%s", got.text)
	}
}
