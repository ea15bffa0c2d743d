package main

import (
	"fmt"
	"strings"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/domain"
)

// TestEachKindOfChannelIsServed holds that the program has a sender for each kind of channel, and docs/reference/delivery.md its fields.
func TestEachKindOfChannelIsServed(t *testing.T) {
	text := mustRead(t, "../../docs/reference/delivery.md")
	rows := (&Program{Config: &config.Config{}}).channelRows()
	for _, k := range domain.ChannelKinds() {
		if _, ok := rows[k.Type]; !ok {
			t.Errorf("%s has no row in channelRows", k.Type)
		}
		if want := fmt.Sprintf("| `%s` | `%s` |\n", k.Type, strings.Join(k.Fields, "`, `")); !strings.Contains(text, want) {
			t.Errorf("docs/reference/delivery.md lacks %s", want)
		}
	}
	if len(rows) != len(domain.ChannelKinds()) {
		t.Errorf("%d kinds have senders, want %d", len(rows), len(domain.ChannelKinds()))
	}
}

// TestDeliveryDoc types the commands of docs/reference/delivery.md.
func TestDeliveryDoc(t *testing.T) {
	t.Parallel()
	blocks := shellBlocks(mustRead(t, "../../docs/reference/delivery.md"))
	if len(blocks) != 5 {
		t.Fatalf("docs/reference/delivery.md has %d blocks, want 5", len(blocks))
	}
	p := startSeed(t)
	sh := p.shell(t)
	sh.run(blocks[0])
	if got := sh.run(blocks[1]); !strings.Contains(got, "\nSTOP  label ") || !strings.Contains(got, "the notification has the labels simple, x; the subscription asks for simple") {
		t.Errorf("why the first did not arrive: %s", got)
	}
	sh.run(blocks[2])
	until(t, "the try to fail", func() bool {
		return strings.Contains(sh.run("bin/ledge why alarms\n"), "\nSTOP  endpoint ")
	})
	if got := sh.run(blocks[3]); !strings.Contains(got, `"status":"RESENDING"`) || !strings.Contains(got, "connection refused") {
		t.Errorf("the tries: %s", got)
	}
	if got := sh.run(blocks[4]); !strings.Contains(got, `"endpoint":"REST/127.0.0.1/`) {
		t.Errorf("the endpoints: %s", got)
	}
}
