package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/store"
)

// TestLogOfUndecodable holds that an event that is skipped is printed as such, and an update with what it changes.
func TestLogOfUndecodable(t *testing.T) {
	for _, c := range []struct{ kind, data, text, json string }{
		{"device.added/1", `{"device":1}`, "UNDECODABLE, skipped: decode device.added/1", `"undecodable":"decode device.added/1`},
		{"device.updated/2", `{"changes":{"labels":{"is":["a"]},"adminState":{"was":"DOWN","is":"UP"}}}`, "adminState: DOWN → UP, labels: nothing → [\"a\"]", `"changes":{`},
		{"device.updated/1", `{"changed":["labels","location"],"device":{"name":"d"}}`, "changed labels, location\n", `"changed":[`},
		{"command.issued/1", `{"device":"d","service":"s","command":"Int8","value":{"Int8":"\u202e12"},"status":200}`,
			`  Int8 {"Int8":"\u202e12"} answered 200` + "\n", `"command":"Int8"`},
		{"command.issued/2", `{"device":"d","service":"s","command":"Int8","value":{"Int8":"12"}}`,
			`  Int8 {"Int8":"12"}` + "\n", `"command":"Int8"`},
		{"command.issued/2", `{"device":"d","service":"s","command":"Int8","status":423}`, "  Int8 nothing answered 423\n", `"status":423`},
		{"command.answered/1", `{"device":"d","command":"Int8","issued":6,"status":200}`, "  Int8 of event 6 answered 200\n", `"issued":6`},
	} {
		m := store.Message{Seq: 7, Subject: "ledge.event.device.d.x", Header: store.Header{{Name: "ce-type", Value: c.kind}, {Name: "ce-subject", Value: "device/d/x"}}, Data: []byte(c.data)}
		for asJSON, want := range map[bool]string{false: c.text, true: c.json} {
			var out bytes.Buffer
			if err := NewPrinter(&out, asJSON).Print(m); err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("got %s, %v, want %s", out.String(), err, want)
			}
		}
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
