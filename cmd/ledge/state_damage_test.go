package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

// The program ends with an exit code of its own when a state file is damaged under it. Until then each answer is right, or an
// error. The next start folds the file again, and has everything.
func TestStateDamagedUnderTheService(t *testing.T) {
	t.Parallel()
	const devices = 300
	p := start(t, t.TempDir())
	before := p.deviceCount()
	allAre(t, itemsOf(t, p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", ordinary("cam", devices)), devices), http.StatusCreated)
	if code := p.stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.log)
	}
	p = start(t, p.dir)
	state := filepath.Join(p.dir, datadir.StateFiles[0])
	zeroPages(t, state, 4)
	for offset := 0; offset < devices; offset += 25 {
		a, err := tryCall(http.MethodGet, fmt.Sprintf("%s/api/v2/device/all?offset=%d&limit=25", p.metadata, offset), "", "")
		switch {
		case err != nil: // it has ended
		case a.status == http.StatusOK && strings.Contains(a.body, fmt.Sprintf(`"totalCount":%d`, before+devices)):
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
		default:
			t.Errorf("list: %d %.300s", a.status, a.body)
		}
	}
	if code := p.wait(); code != exit.State || !strings.Contains(p.log.String(), "state.db cannot be used") || strings.Contains(p.log.String(), "panic") {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	if _, err := os.Stat(state + ".damaged"); err != nil {
		t.Error(err)
	}
	p = start(t, p.dir)
	if got := p.deviceCount(); got != before+devices {
		t.Errorf("%d devices after a restart, want %d", got, before+devices)
	}
	p.addDevice("one-more")
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
}

// zeroPages overwrites all pages of a file from one on with zeros.
func zeroPages(t *testing.T, path string, from int64) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, st.Size()-4096*from), 4096*from); err != nil {
		t.Fatal(err)
	}
}
