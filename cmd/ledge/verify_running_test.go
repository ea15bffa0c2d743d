package main

import (
	"context"
	"io"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// TestOneVerification holds that one verification runs at a time, and that one that is interrupted has no result.
func TestOneVerification(t *testing.T) {
	t.Parallel()
	c := ledgetest.ConfigOf(t, "--data-dir", t.TempDir())
	p := &Program{Config: c, Now: time.Now, node: mustOpenData(t, c)}
	v := p.newVerifier()
	silent := func(string, int64, int64) {}
	run, ok := v.begin("one")
	if _, again := v.begin("two"); !ok || again {
		t.Fatalf("begun: %t, and a second one beside it: %t", ok, again)
	}
	ledgetest.MustDo(t, run(t.Context(), io.Discard, silent))
	if v.last.Running || v.last.Damage != "" || len(v.last.Reports) != 3 {
		t.Errorf("the result is %+v", v.last)
	}
	run, ok = v.begin("three")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, io.Discard, silent); err == nil || !ok || v.last.Running || v.last.Actor != "one" {
		t.Errorf("interrupted: %v, and the result is %+v", err, v.last)
	}
}
