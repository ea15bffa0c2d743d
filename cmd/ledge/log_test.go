package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"ledge/store"
)

// TestLogOfUndecodable holds that an event that is skipped is printed as such, and an update with the fields that it changes.
func TestLogOfUndecodable(t *testing.T) {
	for _, c := range []struct{ kind, data, text, json string }{
		{"device.added/1", `{"device":1}`, "UNDECODABLE, skipped: decode device.added/1", `"undecodable":"decode device.added/1`},
		{"device.updated/2", `{"changes":{"labels":{"is":["a"]},"adminState":{"is":"UP"}}}`, "changed adminState, labels", `"changes":{`},
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
	if code != exitOK || strings.ContainsAny(out, "\u009b\u202e\u007f") || !strings.Contains(out, `a\u009b31m\u202eb\u007fc`) {
		t.Errorf("%d %s %q", code, errs, out)
	}
}
