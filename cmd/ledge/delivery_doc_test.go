package main

import (
	"strings"
	"testing"
)

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
