package damage

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestDamageFarBack flips a byte that is too far back to be looked at before the start: it is found beside the running
// server, which then ends with a line that names it, and the next start refuses.
func TestDamageFarBack(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	var list []string
	for i := range 3000 {
		list = append(list, ledgetest.DeviceJSON(fmt.Sprintf("far-%d", i)))
	}
	p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", "["+strings.Join(list, ",")+"]")
	p.Stop()
	ledgetest.Alter(t, ledgetest.Block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte {
		at := len(b) / 10
		b[at+strings.Index(string(b[at:]), `"name":"far-`)+len(`"name":"`)] ^= 1
		return b
	})
	line := regexp.MustCompile(`LEDGE_EVENTS is damaged at sequence \d+: .*ledge restore. makes a data folder of a backup`)
	p = ledgetest.Launch(t, dir)
	if code := p.Wait(); code != exit.Damaged {
		t.Errorf("ledge serve: exit code %d, want %d\n%s", code, exit.Damaged, p.Log)
	}
	ledgetest.CheckLine(t, "ledge serve", p.Log.String(), line)
	for range 2 {
		mustRefuse(t, dir, line)
	}
	mustBeFound(t, dir, line)
}

// TestRebuildDamaged holds that a rebuild does not throw away what knows that the log was longer.
func TestRebuildDamaged(t *testing.T) {
	t.Parallel()
	n := ledgetest.NewFolders(t)
	dir := ledgetest.Clone(t, n.Killed)
	cut("LEDGE_EVENTS", "2")(t, dir, n, n)
	line := regexp.MustCompile(`LEDGE_EVENTS is damaged at sequence \d+: .*ledge restore. makes a data folder of a backup`)
	for range 2 {
		_, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir)
		if code != exit.Damaged {
			t.Errorf("ledge rebuild: exit code %d, want %d", code, exit.Damaged)
		}
		ledgetest.CheckLine(t, "ledge rebuild", errs, line)
	}
	mustRefuse(t, dir, line)
}
