package damage

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/storetest"
)

// The program ends with an exit code of its own when a state file is damaged under it. Until then each answer is right, or an
// error. The next start folds the file again, and has everything.
func TestStateDamagedUnderTheService(t *testing.T) {
	t.Parallel()
	const devices = 300
	p := ledgetest.Start(t, t.TempDir())
	before := ledgetest.DeviceCount(p)
	ledgetest.AllAre(t, ledgetest.ItemsOf(t, p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary("cam", devices)), devices), http.StatusCreated)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	p = ledgetest.Start(t, p.Dir)
	state := filepath.Join(p.Dir, datadir.StateFiles[0])
	storetest.ZeroPages(t, state, 4)
	for offset := 0; offset < devices; offset += 25 {
		a, err := ledgetest.TryCall(http.MethodGet, fmt.Sprintf("%s/api/v2/device/all?offset=%d&limit=25", p.Metadata, offset), "", "")
		switch {
		case err != nil: // it has ended
		case a.Status == http.StatusOK && strings.Contains(a.Body, fmt.Sprintf(`"totalCount":%d`, before+devices)):
		case a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "":
		default:
			t.Errorf("list: %d %.300s", a.Status, a.Body)
		}
	}
	if code := p.Wait(); code != exit.State || !strings.Contains(p.Log.String(), "state.db cannot be used") || strings.Contains(p.Log.String(), "panic") {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	if _, err := os.Stat(state + ".damaged"); err != nil {
		t.Error(err)
	}
	p = ledgetest.Start(t, p.Dir)
	if got := ledgetest.DeviceCount(p); got != before+devices {
		t.Errorf("%d devices after a restart, want %d", got, before+devices)
	}
	p.AddDevice("one-more")
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
}
