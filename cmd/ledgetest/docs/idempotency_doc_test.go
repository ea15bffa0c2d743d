package docs

import (
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestIdempotencyDoc types the commands of docs/reference/idempotency.md.
func TestIdempotencyDoc(t *testing.T) {
	blocks := ledgetest.ShellBlocks(ledgetest.MustRead(t, "../../../docs/reference/idempotency.md"))
	if len(blocks) != 4 {
		t.Fatalf("docs/reference/idempotency.md has %d blocks, want 4", len(blocks))
	}
	p := ledgetest.StartSeed(t)
	sh := ledgetest.NewShell(p, t)
	first := sh.Run(blocks[0])
	if !strings.Contains(first, `"statusCode":201,"id":"`) {
		t.Errorf("got %s", first)
	}
	if again := sh.Run(blocks[1]); !strings.HasSuffix(again, "\r\n\r\n"+first) || !strings.Contains(again, "\r\nIdempotent-Replayed: true\r\n") {
		t.Errorf("again: got %s, want %s", again, first)
	}
	if got := sh.Run(strings.ReplaceAll(blocks[2], "curl ", "curl --no-fail ")); got != "422\n" {
		t.Errorf("another body: got %s", got)
	}
	sh.Run(blocks[3])
	posted := 0
	for _, f := range ledgetest.Facts(t, p.Dir) {
		if f.Type == "reading.posted/1" && strings.Contains(f.Subject, "hall-1") {
			posted++
		}
	}
	if posted != 1 {
		t.Errorf("the reading is on the log %d times, want once", posted)
	}
}
