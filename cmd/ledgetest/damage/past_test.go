package damage

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestPastOfArchivedEvents asks for devices as of archived events: single ones and lists. Without the archive the answer is an error.
func TestPastOfArchivedEvents(t *testing.T) {
	dir, archive := ledgetest.Archived(t)
	p := ledgetest.Start(t, dir)
	ask := func(path string) ledgetest.Answer {
		t.Helper()
		return p.Call(http.MethodGet, p.Metadata+"/api/v2/device/"+path, "", "")
	}
	found := 0
	for seq := 1; seq < 60; seq++ {
		one := ask(fmt.Sprintf("name/cam-1?asOf=%d", seq))
		all := ask(fmt.Sprintf("all?asOf=%d", seq))
		if one.Status == http.StatusBadRequest { // behind the last event
			break
		}
		_, device, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(one.Body), "}"), `"device":`)
		if one.Status == http.StatusOK && strings.Contains(all.Body, device) && strings.Contains(device, `"description":"description `) {
			found++
		}
		if one.Status == http.StatusNotFound && strings.Contains(all.Body, `"name":"cam-1"`) {
			t.Errorf("as of event %d: %d %s, %s", seq, one.Status, one.Body, all.Body)
		}
	}
	if found < 26 {
		t.Errorf("cam-1 had a description as of %d events, want 26 or more", found)
	}
	long := time.Now().Add(-100 * 7 * 24 * time.Hour).UTC().Format(time.RFC3339)
	if a := ask("all?asOf=" + long); a.Status != http.StatusOK || !strings.Contains(a.Body, `"totalCount":0`) {
		t.Errorf("before all events: %d %s", a.Status, a.Body)
	}
	if err := os.Rename(archive, filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	for _, moment := range []string{"2", "100h", "2000h"} {
		for _, path := range []string{"all", "name/cam-1"} {
			a := ask(path + "?asOf=" + moment)
			if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "missing or damaged") {
				t.Errorf("%s as of %s without the archive: %d %s", path, moment, a.Status, a.Body)
			}
		}
		if _, stderr, code := ledgetest.Run(t, "diff", "--from", moment, "--data-dir", dir); code != exit.Damaged {
			t.Errorf("diff --from %s without the archive: exit code %d, %s", moment, code, stderr)
		}
	}
	p.Stop()
}

// TestGoldenPast opens the golden folder, changes it, and asks with asOf for the answers of before.
func TestGoldenPast(t *testing.T) {
	dir := t.TempDir()
	unpackGolden(t, dir)
	p := ledgetest.Start(t, dir, "--samples=false")
	kinds := map[string]string{
		"device": p.Metadata, "deviceprofile": p.Metadata, "deviceservice": p.Metadata, "provisionwatcher": p.Metadata,
		"subscription": p.Notifications,
	}
	before := map[string]ledgetest.Answer{}
	for kind, service := range kinds {
		url := service + "/api/v2/" + kind + "/all?limit=-1"
		before[url] = p.Call(http.MethodGet, url, "", "")
	}
	seq := 0
	for p.Call(http.MethodGet, fmt.Sprintf("%s/api/v2/device/name/x?asOf=%d", p.Metadata, seq+1), "", "").Status == http.StatusNotFound {
		seq++
	}
	p.AddDevice("later")
	ledgetest.DescribeDevice(p, "later", "later")
	for url, want := range before {
		got := p.Call(http.MethodGet, fmt.Sprintf("%s&asOf=%d", url, seq), "", "")
		if got.Body != want.Body || got.Status != http.StatusOK {
			t.Errorf("%s as of event %d: %d\n%s", url, seq, got.Status, difference(got.Body, want.Body))
		}
		for at := 1; at <= seq; at++ {
			if got := p.Call(http.MethodGet, fmt.Sprintf("%s&asOf=%d", url, at), "", ""); got.Status != http.StatusOK {
				t.Errorf("%s as of event %d: %d %s", url, at, got.Status, got.Body)
			}
		}
	}
	p.Stop()
}
