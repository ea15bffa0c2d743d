package console

import (
	"testing"

	"ledge/handlers/console/devicesearch"
	"ledge/handlers/console/marked"
)

// TestRunDataOf counts the devices of a run, also if more wait than the run had, or if it had none.
func TestRunDataOf(t *testing.T) {
	for _, tt := range []struct {
		of, left, done, full int
	}{{100, 70, 30, 100}, {5, 7, 0, 7}, {0, 0, 0, 1}} {
		run := marked.Run{Filter: devicesearch.Parse("x y"), Of: tt.of}
		p := marked.Progress{Run: run, Left: tt.left, Refusals: 55, Refused: make([]string, 20)}
		d := runDataOf(p)
		if d.Done != tt.done || d.Full != tt.full || d.MoreRefused != 35 || d.List != "/devices?q=x+y" {
			t.Errorf("%d of %d left: %d of %d done, %d more refused, list %s", tt.left, tt.of, d.Done, d.Full, d.MoreRefused, d.List)
		}
	}
	if d := runDataOf(marked.Progress{}); d.List != "/devices" {
		t.Errorf("the list of all devices is %s", d.List)
	}
}
