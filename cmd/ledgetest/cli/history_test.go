package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/domain/history"
)

// readPage reads a page of the history of a device from the API.
func readPage(t *testing.T, a ledgetest.Answer) (page history.Page) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &page); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return page
}

// eventTypes are the types of the events on a page.
func eventTypes(page history.Page) string {
	var types []string
	for _, e := range page.Entries {
		types = append(types, strings.TrimPrefix(e.Type, "device."))
	}
	return strings.Join(types, " ")
}

// TestHistoryOfArchivedEvents reads the history of a device whose first life is archived, in pages.
func TestHistoryOfArchivedEvents(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	for i := range 14 {
		ledgetest.DescribeDevice(p, "cam-1", fmt.Sprint("text ", i))
	}
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam-1", "", "")
	for i := range 6 {
		p.AddDevice(fmt.Sprint("other-", i))
	}
	p.Stop()
	ledgetest.SplitLog(t, dir)
	p = ledgetest.Start(t, dir, "--events-max-bytes", ledgetest.ArchiveAll)
	p.WaitLog(`"msg":"a stretch of the log of changes is archived"`)
	p.AddDevice("cam-1")
	var all []string
	pages := 0
	for before := ""; ; pages++ {
		page := readPage(t, p.Call(http.MethodGet, p.Metadata+"/api/v2/ledger/history/device/cam-1?limit=100"+before, "", ""))
		all = append(all, eventTypes(page))
		if page.Incomplete != "" {
			t.Errorf("the history is incomplete: %s", page.Incomplete)
		}
		if before = fmt.Sprint("&before=", page.Before); page.Before == 0 {
			break
		}
	}
	want := "added removed " + strings.Repeat("updated ", 14) + "added"
	if got := strings.Join(all, " "); got != want || pages == 0 {
		t.Errorf("got %s on %d pages, want %s", got, pages+1, want)
	}
}

// TestHistoryHidesAddresses holds that each role that reads devices reads their history, and that auditors and administrators see
// addresses.
func TestHistoryHidesAddresses(t *testing.T) {
	s := ledgetest.StartSecured(t)
	url := s.Metadata + "/api/v2/ledger/history/device/sample-image"
	for _, role := range domain.Roles() {
		a := s.Send(s.Tokens[role], http.MethodGet, url, "", "")
		if !role.May(domain.MayRead) {
			if a.Status != http.StatusForbidden {
				t.Errorf("%s: got %d %s", role, a.Status, a.Body)
			}
			continue
		}
		page := readPage(t, a)
		if len(page.Entries) == 0 || (page.Entries[0].Origin != "") != role.May(domain.MayAudit) {
			t.Errorf("%s: got %s", role, a.Body)
		}
	}
}

// TestHistoryCommand prints the history of a removed device, beside the server and of its folder.
func TestHistoryCommand(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	ledgetest.DescribeDevice(p, "cam-1", "over the door")
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam-1", "", "")
	for _, state := range []string{"running", "stopped"} {
		out, stderr, code := ledgetest.Run(t, "history", "device", "cam-1", "--limit", "2", "--data-dir", dir)
		lines := strings.Split(out, "\n")
		if code != exit.OK || !strings.Contains(lines[0], "device.removed  by anonymous@127.0.0.1") ||
			!strings.Contains(out, "description: nothing → over the door") || !strings.Contains(out, "Older events: --before ") {
			t.Errorf("%s: %d %s%s", state, code, out, stderr)
		}
		out, stderr, code = ledgetest.Run(t, "history", "device", "cam-1", "--json", "--data-dir", dir)
		var page history.Page
		if err := json.Unmarshal([]byte(out), &page); err != nil || code != 0 || eventTypes(page) != "removed updated added" {
			t.Errorf("%s: %d %v %s%s", state, code, err, out, stderr)
		}
		_, stderr, code = ledgetest.Run(t, "history", "device", "cam-9", "--data-dir", dir)
		if code == 0 || !strings.Contains(stderr, `device "cam-9" does not exist and was never removed`) {
			t.Errorf("%s: %d %s", state, code, stderr)
		}
		if state == "running" {
			p.Stop()
		}
	}
	_, stderr, code := ledgetest.Run(t, "history", "camera", "cam-1", "--data-dir", dir)
	if code != exit.Usage || !strings.Contains(stderr, "use one of device, notification, profile") {
		t.Errorf("%d %s", code, stderr)
	}
}

// TestHistoryOfUsers reads the history of a removed user, beside the server and of its folder. Over HTTP it needs the role admin.
func TestHistoryOfUsers(t *testing.T) {
	s := ledgetest.StartSecured(t)
	url := s.Metadata + "/api/v2"
	admin := s.Tokens[domain.Admin]
	user := `[{"apiVersion":"v2","user":{"name":"zoe","role":"viewer","password":"correct horse battery"}}]`
	if a := s.Send(admin, http.MethodPost, url+"/user", "application/json", user); a.Status != http.StatusMultiStatus {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.Send(admin, http.MethodDelete, url+"/user/name/zoe", "", "")
	for _, role := range domain.Roles() {
		a := s.Send(s.Tokens[role], http.MethodGet, url+"/ledger/history/user/zoe", "", "")
		if !role.May(domain.MayAdminister) {
			encoded := s.Send(s.Tokens[role], http.MethodGet, url+"/ledger/history/us%65r/zoe", "", "")
			if a.Status != http.StatusForbidden || encoded.Status != http.StatusForbidden {
				t.Errorf("%s: got %d %s, and encoded %d %s", role, a.Status, a.Body, encoded.Status, encoded.Body)
			}
		} else if page := readPage(t, a); eventTypes(page) != "user.removed user.added" || strings.Contains(a.Body, "redential") {
			t.Errorf("%s: got %s", role, a.Body)
		}
	}
	for _, state := range []string{"running", "stopped"} {
		out, stderr, code := ledgetest.Run(t, "history", "user", "zoe", "--data-dir", s.Dir)
		if code != exit.OK || !strings.Contains(out, "user.removed  by token:") || !strings.Contains(out, "role: nothing → viewer") {
			t.Errorf("%s: %d %s%s", state, code, out, stderr)
		}
		if state == "running" {
			s.Stop()
		}
	}
}

// TestHistoryRestore restores earlier versions of a device, a removed device, a profile and a subscription, as ordinary changes.
func TestHistoryRestore(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	device := p.Metadata + "/api/v2/device/name/cam-1"
	first := p.Call(http.MethodGet, device, "", "").Body
	sequences := func(entity, name string) (all []uint64) {
		t.Helper()
		for _, e := range readPage(t, p.Call(http.MethodGet, p.Metadata+"/api/v2/ledger/history/"+entity+"/"+name, "", "")).Entries {
			all = append(all, e.Sequence)
		}
		return all
	}
	added := sequences("device", "cam-1")[0]
	ledgetest.DescribeDevice(p, "cam-1", "over the door")
	restore := func(entity, name string, seq uint64, says string) {
		t.Helper()
		out, stderr, code := ledgetest.Run(t, "history", entity, name, "--restore", fmt.Sprint(seq), "--data-dir", dir)
		if !strings.Contains(out+stderr, says) || (code == exit.OK) != (stderr == "") {
			t.Errorf("%s %s: %d %s%s, want %s", entity, name, code, out, stderr, says)
		}
	}
	same := func(what string) {
		t.Helper()
		got := p.Call(http.MethodGet, device, "", "").Body
		if cut := func(text string) string { // ids and times differ
			for _, field := range []string{`"created":`, `"modified":`, `"id":`} {
				if i := strings.Index(text, field); i >= 0 {
					text = text[:i] + text[i+strings.IndexAny(text[i:], ",}"):]
				}
			}
			return text
		}; cut(got) != cut(first) {
			t.Errorf("%s: got %s, want %s", what, got, first)
		}
	}
	restore("device", "cam-1", added, fmt.Sprint("device cam-1 is as it was after event ", added))
	same("restored")
	restore("device", "cam-1", added, "is already as it was")
	p.Call(http.MethodDelete, device, "", "")
	removed := sequences("device", "cam-1")[0]
	restore("device", "cam-1", removed, `device "cam-1" was not there after event`)
	restore("device", "cam-1", added, "is as it was")
	same("added again")
	page := readPage(t, p.Call(http.MethodGet, p.Metadata+"/api/v2/ledger/history/device/cam-1", "", ""))
	if eventTypes(page) != "added removed updated updated added" ||
		!strings.HasPrefix(page.Entries[0].Actor, "cli:") {
		t.Errorf("got %s by %s", eventTypes(page), page.Entries[0].Actor)
	}
	restore("user", "admin", 1, "a user cannot be restored")
	p.Call(http.MethodPatch, p.Metadata+"/api/v2/deviceprofile/basicinfo", "application/json",
		`[{"apiVersion":"v2","basicinfo":{"name":"sample-image","description":"another"}}]`)
	restore("profile", "sample-image", sequences("profile", "sample-image")[1], "profile sample-image is as it was")
	ledgetest.SubscribeElsewhere(p)
	subscription := p.Notifications + "/api/v2/subscription"
	p.Call(http.MethodPatch, subscription, "application/json",
		`[{"apiVersion":"v2","subscription":{"name":"elsewhere","labels":["a"],"description":"new"}}]`)
	restore("subscription", "elsewhere", sequences("subscription", "elsewhere")[1], "subscription elsewhere is as it was")
	text := p.Call(http.MethodGet, subscription+"/name/elsewhere", "", "").Body
	if strings.Contains(text, `"new"`) || strings.Contains(text, `"a"`) {
		t.Errorf("got %s", text)
	}
	p.Stop()
	restore("device", "cam-1", added, "needs a running one")
}
