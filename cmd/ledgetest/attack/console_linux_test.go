package attack

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// largeLabels are labels of 2.7 MB together.
func largeLabels() string { return `"labels":["` + strings.Repeat(`label-0001","`, 207_000) + `last"]` }

// pages loads pages of the console, all at once, as one viewer, and returns the length of the longest. A page that gets no memory in time says so.
func (a *attack) pages(t *testing.T, viewer *ledgetest.ConsoleClient, paths ...string) (longest int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, path := range paths {
		all.Go(func() {
			r, _ := http.NewRequest(http.MethodGet, a.Console+path, nil)
			r.AddCookie(viewer.Cookie)
			resp, err := viewer.Client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			late := resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(text), "try again")
			if err != nil || resp.StatusCode != http.StatusOK && !late || !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
				t.Errorf("%s: %s, %d bytes, %v", path, resp.Status, len(text), err)
			}
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, len(text))
		})
	}
	all.Wait()
	return longest
}

// twelve is how many pages a viewer loads at once.
const twelve = 12

// attackedConsole is an attack on a console by a viewer.
func attackedConsole(t *testing.T) (*attack, *ledgetest.ConsoleClient) {
	a := startAttack(t)
	a.AddConsoleUser(t, domain.Viewer)
	viewer := ledgetest.NewConsoleClient(a.Node)
	viewer.Login(t, "test-viewer", ledgetest.ConsolePassword)
	return a, viewer
}

// TestAttackLargePages has a viewer load the list of devices of 2.7 MB, which are labels, and the pages of these devices, twelve at once. Of 60
// devices three lists at once took over 2 GB of memory; twelve take 107 MiB. Then an operator previews an import of all of them.
func TestAttackLargePages(t *testing.T) {
	a, viewer := attackedConsole(t)
	list := ""
	for i := range listLength(60, 6) {
		device := strings.Replace(ledgetest.DeviceJSON(fmt.Sprintf("large-%d", i)), `"device":{`, `"device":{"description":"<`+strings.Repeat("&", 100_000)+`",`+largeLabels()+",", 1)
		a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
		list += fmt.Sprintf("- {name: large-%d, description: short}\n", i)
	}
	a.forgetPeak()
	var lists, devices []string
	for i := range twelve {
		lists, devices = append(lists, fmt.Sprint("/devices?q=l&n=", i)), append(devices, fmt.Sprintf("/devices/large-%d?n=%d", i%6, i))
	}
	if n := max(a.pages(t, viewer, lists...), a.pages(t, viewer, devices...)); n > 1<<20 {
		t.Errorf("the longest page has %d bytes", n)
	}
	if got := viewer.Get("/devices"); !strings.Contains(got.Text, "+206999") {
		t.Errorf("the list does not say that labels are cut: %s", got.Status)
	}
	got := viewer.Get("/devices/large-1")
	for _, want := range []string{"206951 of 207001 entries of labels", "80001 of 100001 bytes of description", "/api/v2/device/name/large-1"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the page of a device does not say %q", want)
		}
	}
	if status, text := sendUpload(a.NewRole(t, domain.Operator), t, "/devices/+import", list); status != http.StatusOK || !strings.Contains(text, "large-0") {
		t.Errorf("the preview of an import: %d %.1000s", status, text)
	}
	a.held(t)
}

// TestAttackLargeHistory has a viewer load the history of a device whose description of 2.7 MB was changed 25 times, twelve at once. That took
// 3.9 GB of memory, and takes 166 MiB.
func TestAttackLargeHistory(t *testing.T) {
	a, viewer := attackedConsole(t)
	a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/device", "["+ledgetest.DeviceJSON("large")+"]", http.StatusCreated)
	for i := range listLength(25, 3) {
		body := fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"large","description":"%d%s"}}]`, i, strings.Repeat("x", 2_700_000))
		a.PostJSON(http.MethodPatch, a.Metadata+"/api/v2/device", body, http.StatusOK)
	}
	a.forgetPeak()
	var paths []string
	for i := range twelve {
		paths = append(paths, fmt.Sprintf("/devices/large/history?back=%d", i%8))
	}
	if n := a.pages(t, viewer, paths...); n > 1<<20 {
		t.Errorf("the longest page has %d bytes", n)
	}
	a.held(t)
}
