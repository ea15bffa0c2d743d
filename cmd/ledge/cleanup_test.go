package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
)

// postNotifications posts n of them, in requests of a thousand.
func (p *process) postNotifications(n int) {
	p.tb.Helper()
	const each = 1000
	want := make([]int, each)
	for i := range want {
		want[i] = http.StatusCreated
	}
	one := `{"apiVersion":"v2","notification":{"category":"bulk","content":"c","sender":"me","severity":"NORMAL"}}`
	body := "[" + strings.TrimSuffix(strings.Repeat(one+",", each), ",") + "]"
	for range n / each {
		p.postJSON(http.MethodPost, p.notifications+"/api/v2/notification", body, want...)
	}
}

// count returns the total of a list of notifications or transmissions.
func (p *process) count(path string) int {
	p.tb.Helper()
	a := p.call(http.MethodGet, p.notifications+"/api/v2/"+path, "", "")
	var list struct{ TotalCount *int }
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || list.TotalCount == nil {
		p.tb.Fatalf("GET %s: %d %s", path, a.status, a.body)
	}
	return *list.TotalCount
}

// waitCount asks until the total passes.
func (p *process) waitCount(path string, passes func(int) bool) int {
	p.tb.Helper()
	for deadline := time.Now().Add(hangs); ; {
		n := p.count(path)
		if passes(n) {
			return n
		}
		if time.Now().After(deadline) {
			p.tb.Fatalf("%s: still %d after %v\n%s", path, n, hangs, p.log)
		}
	}
}

func (p *process) cleanUp(path string) {
	p.tb.Helper()
	if a := p.call(http.MethodDelete, p.notifications+"/api/v2/"+path, "", ""); a.status != http.StatusAccepted {
		p.tb.Fatalf("DELETE %s: %d %s", path, a.status, a.body)
	}
}

func none(n int) bool { return n == 0 }

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
		p := start(t, dir)
		p.postNotifications(all)
		p.waitCount("notification/status/NEW?limit=0", none)
		var asking sync.WaitGroup
		asking.Go(func() { _, _ = tryCall(http.MethodDelete, p.notifications+"/api/v2/cleanup", "", "") }) // is answered at the end
		p.waitCount("notification/category/bulk?limit=0", func(n int) bool { return n < all })
		p.postJSON(http.MethodPost, p.notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"late","content":"c","sender":"me","severity":"NORMAL"}}]`, http.StatusCreated)
		p.kill()
		asking.Wait()
		d := mustOpenData(t, configOf(t, "--data-dir", dir))
		defer d.Close()
		return nodetest.CountOf(t, d.Notifications.State, "notifications") > 1
	})

	p := start(t, dir)
	p.waitCount("notification/category/bulk?limit=0", none)
	if n := p.count("notification/category/late?limit=0"); n != 1 {
		t.Errorf("posted after the cleanup was asked for: %d are left, want 1", n)
	}
	p.waitLog(`"msg":"cleanup finished","kind":"all"`)
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}

	p = start(t, dir)
	if n := p.count("notification/start/0/end/9000000000000?limit=0"); n != 1 {
		t.Errorf("after another start: %d notifications, want 1", n)
	}
	p.stop()
	if out, errs, code := ledge(t, "rebuild", "--data-dir", dir); code != 0 {
		t.Fatalf("rebuild: %d %s %s", code, out, errs)
	}
	p = start(t, dir)
	if n := p.count("notification/start/0/end/9000000000000?limit=0"); n != 1 {
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
		defer d.Close()
		return len(nodetest.EventsOf(t, d, device))
	}
	killedInTheMiddle(t, func() bool {
		dir = t.TempDir()
		d := mustOpenData(t, configOf(t, "--data-dir", dir))
		for range all / each {
			var commands []domain.Command
			for range each {
				commands = append(commands, nodetest.NewReading("gone", "r", 10))
			}
			nodetest.Submit(t, d, append(commands, nodetest.NewReading("stays", "r", 10))...)
		}
		nodetest.Submit(t, d, domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: domain.CleanupDeviceEvents("gone")}}, nodetest.NewReading("gone", "r", 10))
		_ = d.Close()
		p := start(t, dir)
		until(t, "the first to go", func() bool { return p.countEvents("gone") <= all })
		p.kill()
		return left("gone") > 1
	})

	p := start(t, dir)
	p.waitLog(`"msg":"cleanup finished","kind":"device:gone"`)
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	verify(t, dir)
	for _, when := range []string{"before", "after"} {
		if gone, stays := left("gone"), left("stays"); gone != 1 || stays != all/each {
			t.Errorf("%s a rebuild: %d and %d data events are left, want 1 and %d", when, gone, stays, all/each)
		}
		if out, errs, code := ledge(t, "rebuild", "--data-dir", dir); code != 0 {
			t.Fatalf("rebuild: %d %s %s", code, out, errs)
		}
	}
}

// TestCleanupsByAge removes by age, while the program runs: processed notifications with their transmissions, or
// transmissions alone.
func TestCleanupsByAge(t *testing.T) {
	p := start(t, t.TempDir())
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"s","receiver":"r","adminState":"UNLOCKED","categories":["bulk"],`+
		`"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, porttest.Hold(t)), http.StatusCreated)
	p.postNotifications(1000)
	p.waitCount("notification/status/NEW?limit=0", none)
	if n := p.count("transmission/all?limit=0"); n != 1000 {
		t.Fatalf("%d transmissions, want 1000", n)
	}
	p.cleanUp("notification/age/3600000")
	p.cleanUp("transmission/age/3600000")
	p.waitLog(`"msg":"cleanup finished","kind":"transmissions","removed":0`)
	p.waitLog(`"msg":"cleanup finished","kind":"processed","removed":0`)
	if n, sent := p.count("notification/category/bulk?limit=0"), p.count("transmission/all?limit=0"); n != 1000 || sent != 1000 {
		t.Errorf("nothing is an hour old: %d notifications and %d transmissions are left, want 1000", n, sent)
	}
	p.cleanUp("transmission/age/-1000")
	p.waitCount("transmission/all?limit=0", none)
	if n := p.count("notification/category/bulk?limit=0"); n != 1000 {
		t.Errorf("%d notifications are left, want 1000", n)
	}
	p.cleanUp("notification/age/0")
	p.waitCount("notification/category/bulk?limit=0", none)
}

// countEvents returns how many data events of a device there are.
func (p *process) countEvents(device string) int {
	p.tb.Helper()
	a := p.call(http.MethodGet, p.coreData+"/api/v2/event/count/device/name/"+device, "", "")
	var answer struct{ Count *int }
	if err := json.Unmarshal([]byte(a.body), &answer); err != nil || answer.Count == nil {
		p.tb.Fatalf("count of %s: %d %s", device, a.status, a.body)
	}
	return *answer.Count
}

// waitLog waits for a line that contains text.
func (p *process) waitLog(text string) {
	p.tb.Helper()
	for deadline := time.After(hangs); ; {
		if _, ok := p.log.find(text); ok {
			return
		}
		select {
		case <-p.log.more:
		case <-deadline:
			p.tb.Fatalf("no line with %s\n%s", text, p.log)
		}
	}
}

// TestRemovedAtTheAnswer lists at once what was removed. Before, 14 to 20 of 20 lists had it still, for 9 to 200 ms.
func TestRemovedAtTheAnswer(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	notify := func() {
		p.postJSON(http.MethodPost, p.notifications+"/api/v2/notification",
			`[{"apiVersion":"v2","notification":{"category":"c","content":"c","sender":"me","severity":"NORMAL"}}]`, http.StatusCreated)
		p.waitCount("notification/status/NEW?limit=0", none) // only what is processed is removed by age
	}
	read := func() { p.postImage("value") }
	for _, c := range []struct {
		what         func()
		remove, list string
	}{
		{notify, p.notifications + "/api/v2/cleanup", p.notifications + "/api/v2/notification/category/c"},
		{notify, p.notifications + "/api/v2/cleanup/age/0", p.notifications + "/api/v2/notification/category/c"},
		{notify, p.notifications + "/api/v2/notification/age/0", p.notifications + "/api/v2/notification/category/c"},
		{read, p.coreData + "/api/v2/event/device/name/sample-image", p.coreData + "/api/v2/event/device/name/sample-image"},
		{read, p.coreData + "/api/v2/event/age/0", p.coreData + "/api/v2/reading/all"},
	} {
		for range 5 {
			c.what()
			if a := p.call(http.MethodDelete, c.remove, "", ""); a.status != http.StatusAccepted {
				t.Fatalf("DELETE %s: %d %s", c.remove, a.status, a.body)
			}
			if a := p.call(http.MethodGet, c.list, "", ""); !strings.Contains(a.body, `"totalCount":0`) {
				t.Errorf("DELETE %s, and %s has it still: %.300s", c.remove, c.list, a.body)
			}
		}
	}
}
