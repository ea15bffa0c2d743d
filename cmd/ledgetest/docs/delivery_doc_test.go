package docs

import (
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestDeliveryDoc types the commands of docs/reference/delivery.md.
func TestDeliveryDoc(t *testing.T) {
	t.Parallel()
	blocks := ledgetest.ShellBlocks(ledgetest.MustRead(t, "../../../docs/reference/delivery.md"))
	if len(blocks) != 5 {
		t.Fatalf("docs/reference/delivery.md has %d blocks, want 5", len(blocks))
	}
	p := ledgetest.StartSeed(t)
	sh := ledgetest.NewShell(p, t)
	sh.Run(blocks[0])
	if got := sh.Run(blocks[1]); !strings.Contains(got, "\nSTOP  label ") || !strings.Contains(got, "the notification has the labels simple, x; the subscription asks for simple") {
		t.Errorf("why the first did not arrive: %s", got)
	}
	sh.Run(blocks[2])
	ledgetest.Until(t, "the try to fail", func() bool {
		return strings.Contains(sh.Run("bin/ledge why alarms\n"), "\nSTOP  endpoint ")
	})
	if got := sh.Run(blocks[3]); !strings.Contains(got, `"status":"RESENDING"`) || !strings.Contains(got, "connection refused") {
		t.Errorf("the tries: %s", got)
	}
	if got := sh.Run(blocks[4]); !strings.Contains(got, `"endpoint":"REST/127.0.0.1/`) {
		t.Errorf("the endpoints: %s", got)
	}
}
