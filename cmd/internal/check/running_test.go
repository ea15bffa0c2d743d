package check

import (
	"context"
	"io"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node/nodetest"
)

// TestOneVerification holds that one verification runs at a time, and that one that is interrupted has no result.
func TestOneVerification(t *testing.T) {
	t.Parallel()
	paths := datadir.Paths{Data: t.TempDir()}
	v := NewVerifier(nodetest.Open(t, paths.Data), paths)
	silent := func(string, int64, int64) {}
	run, ok := v.Begin("one")
	if _, again := v.Begin("two"); !ok || again {
		t.Fatalf("begun: %t, and a second one beside it: %t", ok, again)
	}
	if err := run(t.Context(), io.Discard, silent); err != nil {
		t.Fatal(err)
	}
	if v.last.Running || v.last.Damage != "" || len(v.last.Reports) != 3 {
		t.Errorf("the result is %+v", v.last)
	}
	run, ok = v.Begin("three")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, io.Discard, silent); err == nil || !ok || v.last.Running || v.last.Actor != "one" {
		t.Errorf("interrupted: %v, and the result is %+v", err, v.last)
	}
}
