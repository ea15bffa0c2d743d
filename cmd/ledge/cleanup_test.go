package main

import (
	"net/http"
	"sync"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestCleanupGoesOnAfterAKill asks for the removal of 20,000 notifications, kills the program in the middle and starts it
// again: they all go, and what was posted after the request stays.
func TestCleanupGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	const all = 20_000
	var dir string
	ledgetest.KilledInTheMiddle(t, func() bool {
		dir = t.TempDir()
		p := ledgetest.Start(t, dir)
		ledgetest.PostNotifications(p, all)
		p.WaitCount("notification/status/NEW?limit=0", ledgetest.IsNone)
		var asking sync.WaitGroup
		asking.Go(func() { _, _ = ledgetest.TryCall(http.MethodDelete, p.Notifications+"/api/v2/cleanup", "", "") }) // is answered at the end
		p.WaitCount("notification/category/bulk?limit=0", func(n int) bool { return n < all })
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"late","content":"c","sender":"me","severity":"NORMAL"}}]`, http.StatusCreated)
		p.Kill()
		asking.Wait()
		d := mustOpenData(t, configOf(t, "--data-dir", dir))
		defer d.close()
		return ledgetest.TotalOf(t, d.notes, "notifications") > 1
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
		d := mustOpenData(t, configOf(t, "--data-dir", dir))
		defer d.close()
		return len(d.eventsOf(t, device))
	}
	ledgetest.KilledInTheMiddle(t, func() bool {
		dir = t.TempDir()
		d := mustOpenData(t, configOf(t, "--data-dir", dir))
		for range all / each {
			var commands []domain.Command
			for range each {
				commands = append(commands, ledgetest.Reading("gone", "r", 10))
			}
			d.submit(t, append(commands, ledgetest.Reading("stays", "r", 10))...)
		}
		d.submit(t, domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: domain.CleanupDeviceEvents("gone")}}, ledgetest.Reading("gone", "r", 10))
		_ = d.close()
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
