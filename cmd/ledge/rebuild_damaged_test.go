package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/domain"
)

// A state file whose pages are zeroed under the running service is folded anew without a restart. Until then each answer is
// right, or 503 with Retry-After, and health names the file.
func TestHealsUnderTheService(t *testing.T) {
	t.Parallel()
	const devices = 300
	p := start(t, t.TempDir())
	before := p.deviceCount()
	allAre(t, itemsOf(t, p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", ordinary("cam", devices)), devices), http.StatusCreated)
	if code := p.stop(); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, p.log)
	}
	p = start(t, p.dir)
	state := filepath.Join(p.dir, stateFiles[0])
	zeroPages(t, state, 4)
	refused := 0
	for offset := 0; offset < devices; offset += 25 {
		a := p.call(http.MethodGet, fmt.Sprintf("%s/api/v2/device/all?offset=%d&limit=25", p.metadata, offset), "", "")
		switch {
		case a.status == http.StatusOK && strings.Contains(a.body, fmt.Sprintf(`"totalCount":%d`, before+devices)):
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" && strings.Contains(a.body, "state.db"):
			refused++
		default:
			t.Errorf("list: %d %.300s", a.status, a.body)
		}
	}
	if refused == 0 {
		t.Error("no list met the damage")
	}
	until(t, "health", func() bool {
		a := p.call(http.MethodGet, p.metadata+"/api/v2/health", "", "")
		if a.status != http.StatusOK && !strings.Contains(a.body, "state.db") {
			t.Errorf("health: %d %s", a.status, a.body)
		}
		return a.status == http.StatusOK
	})
	if got := p.deviceCount(); got != before+devices {
		t.Errorf("%d devices, want %d", got, before+devices)
	}
	p.addDevice("one-more")
	if _, err := os.Stat(state + ".damaged"); err != nil {
		t.Error(err)
	}
	if code := p.stop(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	if strings.Contains(p.log.String(), "panic") {
		t.Errorf("panicked: %s", p.log)
	}
	if got := start(t, p.dir).deviceCount(); got != before+devices+1 {
		t.Errorf("%d devices after a restart, want %d", got, before+devices+1)
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

// What reads the state in the background meets a damaged page: that is an error, and it goes on when the state is healed.
func TestBackgroundMeetsDamage(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir())
	d := mustOpenData(t, c)
	note := domain.Notification{ID: newID(), Category: "c", Content: "c", Sender: "me", Severity: domain.SeverityNormal, Status: domain.StatusNew, Created: 1, Modified: 1}
	d.submit(t, domain.AddNotification{Notification: note}, domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: domain.CleanupAll, Until: 1, Asked: 1}})
	if err := d.notes.Sync(); err != nil {
		t.Fatal(err)
	}
	zeroPages(t, filepath.Join(c.DataDir, stateFiles[1]), 2)
	s := d.newSweeper(d.notes, d.notifications, d.store.Notifications())
	if _, _, err := s.next(t.Context(), domain.CleanupAll); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("got %v", err)
	}
	s.sweep(t.Context(), domain.CleanupAll)
	v, done := d.notes.State()
	defer done()
	if _, ok := v.Notifications.Get(note.ID); ok {
		t.Error("it is still there")
	}
}
