package lifecycle

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/node/nodetest"
	"ledge/cmd/internal/server/servertest"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// postNotifications posts n of them, in requests of a thousand.
func postNotifications(p *ledgetest.Node, n int) {
	p.TB.Helper()
	const each = 1000
	want := make([]int, each)
	for i := range want {
		want[i] = http.StatusCreated
	}
	one := `{"apiVersion":"v2","notification":{"category":"bulk","content":"c","sender":"me","severity":"NORMAL"}}`
	body := "[" + strings.TrimSuffix(strings.Repeat(one+",", each), ",") + "]"
	for range n / each {
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", body, want...)
	}
}

func cleanUp(p *ledgetest.Node, path string) {
	p.TB.Helper()
	if a := p.Call(http.MethodDelete, p.Notifications+"/api/v2/"+path, "", ""); a.Status != http.StatusAccepted {
		p.TB.Fatalf("DELETE %s: %d %s", path, a.Status, a.Body)
	}
}

// killedInTheMiddle has something tried until it was killed in the middle, which a test that gets no processor time for a
// while may miss.
func killedInTheMiddle(t *testing.T, try func() (inTheMiddle bool)) {
	t.Helper()
	const tries = 10
	for i := range tries {
		if try() {
			t.Logf("try %d was killed in the middle", i+1)
			return
		}
	}
	t.Fatalf("all was over before the kill, %d times: this tries nothing", tries)
}

// TestCleanupGoesOnAfterAKill asks for the removal of 20,000 notifications, kills the program in the middle and starts it
// again: they all go, and what was posted after the request stays.
func TestCleanupGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	const all = 20_000
	var dir string
	killedInTheMiddle(t, func() bool {
		dir = t.TempDir()
		p := ledgetest.Start(t, dir)
		postNotifications(p, all)
		p.WaitCount("notification/status/NEW?limit=0", ledgetest.IsNone)
		var asking sync.WaitGroup
		asking.Go(func() { _, _ = ledgetest.TryCall(http.MethodDelete, p.Notifications+"/api/v2/cleanup", "", "") }) // is answered at the end
		p.WaitCount("notification/category/bulk?limit=0", func(n int) bool { return n < all })
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"late","content":"c","sender":"me","severity":"NORMAL"}}]`, http.StatusCreated)
		p.Kill()
		asking.Wait()
		d := servertest.MustOpenNode(t, servertest.ConfigOf(t, "--data-dir", dir))
		defer d.Close()
		return nodetest.CountOf(t, d.Notifications.State, "notifications") > 1
	})

	p := ledgetest.Start(t, dir)
	p.WaitCount("notification/category/bulk?limit=0", ledgetest.IsNone)
	if n := ledgetest.Count(p, "notification/category/late?limit=0"); n != 1 {
		t.Errorf("posted after the cleanup was asked for: %d are left, want 1", n)
	}
	p.WaitLog(`"msg":"cleanup finished","kind":"all"`)
	if code := p.Stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}

	p = ledgetest.Start(t, dir)
	if n := ledgetest.Count(p, "notification/start/0/end/9000000000000?limit=0"); n != 1 {
		t.Errorf("after another start: %d notifications, want 1", n)
	}
	p.Stop()
	if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != 0 {
		t.Fatalf("rebuild: %d %s %s", code, out, errs)
	}
	p = ledgetest.Start(t, dir)
	if n := ledgetest.Count(p, "notification/start/0/end/9000000000000?limit=0"); n != 1 {
		t.Errorf("after a rebuild: %d notifications, want 1", n)
	}
}

// TestCleanupOfEventsGoesOnAfterAKill kills the program while it removes 20,000 data events of a device: they all go, and
// what was recorded after the request, or of another device, stays.
func TestCleanupOfEventsGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	const all, each = 20_000, 1000
	var dir string
	left := func(device string) int {
		d := servertest.MustOpenNode(t, servertest.ConfigOf(t, "--data-dir", dir))
		defer d.Close()
		return len(nodetest.EventsOf(t, d, device))
	}
	killedInTheMiddle(t, func() bool {
		dir = t.TempDir()
		d := servertest.MustOpenNode(t, servertest.ConfigOf(t, "--data-dir", dir))
		for range all / each {
			var commands []domain.Command
			for range each {
				commands = append(commands, nodetest.NewReading("gone", "r", 10))
			}
			nodetest.Submit(t, d, append(commands, nodetest.NewReading("stays", "r", 10))...)
		}
		nodetest.Submit(t, d, domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: domain.CleanupDeviceEvents("gone")}}, nodetest.NewReading("gone", "r", 10))
		_ = d.Close()
		p := ledgetest.Start(t, dir)
		ledgetest.Until(t, "the first to go", func() bool { return p.CountEvents("gone") <= all })
		p.Kill()
		return left("gone") > 1
	})

	p := ledgetest.Start(t, dir)
	p.WaitLog(`"msg":"cleanup finished","kind":"device:gone"`)
	if code := p.Stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.Verify(t, dir)
	for _, when := range []string{"before", "after"} {
		if gone, stays := left("gone"), left("stays"); gone != 1 || stays != all/each {
			t.Errorf("%s a rebuild: %d and %d data events are left, want 1 and %d", when, gone, stays, all/each)
		}
		if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != 0 {
			t.Fatalf("rebuild: %d %s %s", code, out, errs)
		}
	}
}

// TestCleanupsByAge removes by age, while the program runs: processed notifications with their transmissions, or
// transmissions alone.
func TestCleanupsByAge(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"s","receiver":"r","adminState":"UNLOCKED","categories":["bulk"],`+
		`"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, porttest.Hold(t)), http.StatusCreated)
	postNotifications(p, 1000)
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
