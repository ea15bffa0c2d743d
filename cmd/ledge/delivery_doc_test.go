package main

import (
	"fmt"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestEachKindOfChannelIsServed holds that the program has a sender for each kind of channel, and docs/reference/delivery.md its fields.
func TestEachKindOfChannelIsServed(t *testing.T) {
	text := ledgetest.MustRead(t, "../../docs/reference/delivery.md")
	rows := (&Program{Config: &Config{}}).channelRows()
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
