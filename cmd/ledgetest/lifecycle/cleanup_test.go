package lifecycle

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

func cleanUp(p *ledgetest.Node, path string) {
	p.TB.Helper()
	if a := p.Call(http.MethodDelete, p.Notifications+"/api/v2/"+path, "", ""); a.Status != http.StatusAccepted {
		p.TB.Fatalf("DELETE %s: %d %s", path, a.Status, a.Body)
	}
}

// TestCleanupsByAge removes by age, while the program runs: processed notifications with their transmissions, or
// transmissions alone.
func TestCleanupsByAge(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"s","receiver":"r","adminState":"UNLOCKED","categories":["bulk"],`+
		`"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, porttest.Hold(t)), http.StatusCreated)
	ledgetest.PostNotifications(p, 1000)
	p.WaitCount("notification/status/NEW?limit=0", ledgetest.IsNone)
	if n := ledgetest.Count(p, "transmission/all?limit=0"); n != 1000 {
		t.Fatalf("%d transmissions, want 1000", n)
	}
	cleanUp(p, "notification/age/3600000")
	cleanUp(p, "transmission/age/3600000")
	p.WaitLog(`"msg":"cleanup finished","kind":"transmissions","removed":0`)
	p.WaitLog(`"msg":"cleanup finished","kind":"processed","removed":0`)
	if n, sent := ledgetest.Count(p, "notification/category/bulk?limit=0"), ledgetest.Count(p, "transmission/all?limit=0"); n != 1000 || sent != 1000 {
		t.Errorf("nothing is an hour old: %d notifications and %d transmissions are left, want 1000", n, sent)
	}
	cleanUp(p, "transmission/age/-1000")
	p.WaitCount("transmission/all?limit=0", ledgetest.IsNone)
	if n := ledgetest.Count(p, "notification/category/bulk?limit=0"); n != 1000 {
		t.Errorf("%d notifications are left, want 1000", n)
	}
	cleanUp(p, "notification/age/0")
	p.WaitCount("notification/category/bulk?limit=0", ledgetest.IsNone)
}

// TestRemovedAtTheAnswer lists at once what was removed. Before, 14 to 20 of 20 lists had it still, for 9 to 200 ms.
func TestRemovedAtTheAnswer(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	notify := func() {
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification",
			`[{"apiVersion":"v2","notification":{"category":"c","content":"c","sender":"me","severity":"NORMAL"}}]`, http.StatusCreated)
		p.WaitCount("notification/status/NEW?limit=0", ledgetest.IsNone) // only what is processed is removed by age
	}
	read := func() { p.PostImage("value") }
	for _, c := range []struct {
		what         func()
		remove, list string
	}{
		{notify, p.Notifications + "/api/v2/cleanup", p.Notifications + "/api/v2/notification/category/c"},
		{notify, p.Notifications + "/api/v2/cleanup/age/0", p.Notifications + "/api/v2/notification/category/c"},
		{notify, p.Notifications + "/api/v2/notification/age/0", p.Notifications + "/api/v2/notification/category/c"},
		{read, p.CoreData + "/api/v2/event/device/name/sample-image", p.CoreData + "/api/v2/event/device/name/sample-image"},
		{read, p.CoreData + "/api/v2/event/age/0", p.CoreData + "/api/v2/reading/all"},
	} {
		for range 5 {
			c.what()
			if a := p.Call(http.MethodDelete, c.remove, "", ""); a.Status != http.StatusAccepted {
				t.Fatalf("DELETE %s: %d %s", c.remove, a.Status, a.Body)
			}
			if a := p.Call(http.MethodGet, c.list, "", ""); !strings.Contains(a.Body, `"totalCount":0`) {
				t.Errorf("DELETE %s, and %s has it still: %.300s", c.remove, c.list, a.Body)
			}
		}
	}
}
