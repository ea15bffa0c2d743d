package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
)

// TestDamageFarBack flips a byte that is too far back to be looked at before the start: it is found beside the running
// server, which then ends with a line that names it, and the next start refuses.
func TestDamageFarBack(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	var list []string
	for i := range 3000 {
		list = append(list, deviceJSON(fmt.Sprintf("far-%d", i)))
	}
	p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", "["+strings.Join(list, ",")+"]")
	p.stop()
	alter(t, block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte {
		at := len(b) / 10
		b[at+strings.Index(string(b[at:]), `"name":"far-`)+len(`"name":"`)] ^= 1
		return b
	})
	line := regexp.MustCompile(`LEDGE_EVENTS is damaged at sequence \d+: .*ledge restore. makes a data folder of a backup`)
	p = launch(t, dir)
	if code := p.wait(); code != exit.Damaged {
		t.Errorf("ledge serve: exit code %d, want %d\n%s", code, exit.Damaged, p.log)
	}
	checkLine(t, "ledge serve", p.log.String(), line)
	for range 2 {
		mustRefuse(t, dir, line)
	}
	mustBeFound(t, dir, line)
}

// TestRebuildDamaged holds that a rebuild does not throw away what knows that the log was longer.
func TestRebuildDamaged(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	dir := clone(t, n.killed)
	cut("LEDGE_EVENTS", "2")(t, dir, n, n)
	line := regexp.MustCompile(`LEDGE_EVENTS is damaged at sequence \d+: .*ledge restore. makes a data folder of a backup`)
	for range 2 {
		_, errs, code := ledge(t, "rebuild", "--data-dir", dir)
		if code != exit.Damaged {
			t.Errorf("ledge rebuild: exit code %d, want %d", code, exit.Damaged)
		}
		checkLine(t, "ledge rebuild", errs, line)
	}
	mustRefuse(t, dir, line)
}
