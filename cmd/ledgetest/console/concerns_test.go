package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// postPast posts values of a device every ten minutes, from and to a number of hours ago.
func postPast(p *ledgetest.Node, device string, from, to time.Duration) {
	p.TB.Helper()
	for ago := from; ago >= to; ago -= 10 * time.Minute {
		at := time.Now().Add(-ago).UnixNano()
		reading := fmt.Sprintf(`{"id":%q,"origin":%d,"deviceName":%q,"resourceName":"temperature","profileName":"hall-sensor",
			"valueType":"Float32","value":"20.5"}`, uuid.NewString(), at, device)
		body := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":%q,"profileName":"hall-sensor",
			"sourceName":"temperature","origin":%d,"readings":[%s]}}`, uuid.NewString(), device, at, reading)
		path := "/api/v2/event/hall-sensor/" + device + "/temperature"
		if got := p.Call(http.MethodPost, p.CoreData+path, "application/json", body); got.Status != http.StatusCreated {
			p.TB.Fatal(got)
		}
	}
}

// troubleConsole gives a node some of each thing that needs an operator, and returns the words of the overview, with the number of rows of
// the list that each leads to.
func troubleConsole(p *ledgetest.Node, t *testing.T) map[string]int {
	t.Helper()
	ledgetest.AddSensorProfile(p)
	for _, one := range []struct {
		name, admin, operating string
		last                   time.Duration // how long ago it sent last; it sent every ten minutes
	}{
		{"cam-1", "UNLOCKED", "DOWN", 4 * time.Hour}, {"cam-2", "UNLOCKED", "DOWN", 0}, {"gate-cam", "LOCKED", "UP", 4 * time.Hour},
		{"hall-1", "UNLOCKED", "UP", 4 * time.Hour}, {"hall-2", "UNLOCKED", "UP", 0}, {"hall-3", "LOCKED", "DOWN", 4 * time.Hour},
	} {
		ledgetest.AddSensor(p, one.name, "")
		postPast(p, one.name, 7*time.Hour, one.last)
		states := fmt.Sprintf(`{"name":%q,"adminState":%q,"operatingState":%q}`, one.name, one.admin, one.operating)
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":`+states+`}]`, http.StatusOK)
	}
	addRESTSubscription(p, "warehouse", "door", porttest.Hold(t))
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"office",
		"receiver":"r","categories":["window"],"adminState":"UNLOCKED","resendLimit":3,"resendInterval":"1h",
		"channels":[{"type":"REST","host":"127.0.0.1","port":%d,"path":"/in","httpMethod":"POST"}]}}]`, porttest.Hold(t)), http.StatusCreated)
	ledgetest.PostNotification(p, "window", "a window is open")
	for range 2 {
		ledgetest.PostNotification(p, "door", "the gate is open")
	}
	for range 3 {
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"fire",
			"content":"smoke in hall 2","sender":"porter","severity":"CRITICAL"}}]`, http.StatusCreated)
	}
	ledgetest.Until(t, "messages that are given up", func() bool {
		failed := 0
		for _, one := range p.Transmissions("subscription/name/warehouse") {
			if one.Status == domain.StatusFailed {
				failed++
			}
		}
		return failed == 2
	})
	return map[string]int{
		"3 CRITICAL notifications are not acknowledged": 3, "2 notifications have deliveries that were given up": 2, "3 devices are DOWN": 3,
		"1 device is silent for longer than usual": 1, "2 devices are LOCKED": 2, "1 endpoint fails": 1,
	}
}

// TestConsoleConcerns has something of each kind go wrong. The overview names each, and each leads to a list of exactly these.
func TestConsoleConcerns(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Operator)
	b.open("/")
	b.see("#well")
	if text := b.text("#overview"); !strings.HasPrefix(text, "All is well.") {
		t.Errorf("a new node: %s", text)
	}
	want := troubleConsole(p, t)
	const link = `[...document.querySelectorAll(".concerns a")].find(a => a.innerText === %q)`
	for text := range want {
		b.until("!!" + fmt.Sprintf(link, text))
	}
	if n := ask[int](b, `document.querySelectorAll(".concerns li, #well").length`); n != len(want) {
		t.Errorf("%d concerns, want %d:\n%s", n, len(want), b.text("#overview"))
	}
	for text, rows := range want {
		b.open("/")
		to := ask[string](b, fmt.Sprintf(link+`.getAttribute("href")`, text))
		b.click(fmt.Sprintf(`.concerns a[href=%q]`, to))
		css := "#rows"
		if strings.HasPrefix(to, "#") {
			css = to + " + div"
		}
		b.until(fmt.Sprintf(`document.querySelectorAll(%q).length === %d`, css+" tbody tr:not(:has([colspan]))", rows))
		if !ask[bool](b, `!!document.querySelector("nav")`) {
			t.Errorf("the page of %q has no menu", text)
		}
	}
	b.open("/devices?state=SILENT")
	if text := b.text("#rows tbody"); !strings.Contains(text, "hall-1") || !strings.Contains(text, "usually for 10m at most") {
		t.Errorf("the silent devices: %s", text)
	}
	b.open("/notifications?severity=CRITICAL&ack=false")
	if text := b.text("#rows caption"); text != "3 notifications, the last changed first" {
		t.Errorf("the caption: %q", text)
	}
	b.click("form[action$='acknowledge'] button")
	b.until(`/Acknowledged: 3\./.test(document.querySelector(".notice")?.innerText)`)
	b.open("/")
	b.until(`document.querySelectorAll(".concerns li").length === ` + strconv.Itoa(len(want)-1))
}

// TestConsoleKeepsTheResource posts an image while the page of a device shows another resource in full: all parts stay about that one.
func TestConsoleKeepsTheResource(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	b := logIn(p, t, domain.Operator)
	b.open("/devices/hall-1")
	title := b.text("#resource-title")
	ledgetest.PostTo(p, "hall-1", "image", "image/jpeg", drawn(1))
	b.until(`!!document.querySelector("#latest img")`)
	if current, values := b.text("#latest .current h3"), b.text("#values"); current != title || values != title+" has no value yet." {
		t.Errorf("the title is %q, the current tile %q, the values %q", title, current, values)
	}
}

// TestConsoleSendAgain sends messages again that were given up: one, and all of a subscription, whose receiver is back elsewhere.
func TestConsoleSendAgain(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	addRESTSubscription(p, "warehouse", "door", porttest.Hold(t))
	failed := func(n int) func() bool {
		return func() bool {
			got := 0
			for _, one := range p.Transmissions("subscription/name/warehouse") {
				if one.Status == domain.StatusFailed {
					got++
				}
			}
			return got == n
		}
	}
	for range 3 {
		ledgetest.PostNotification(p, "door", "the gate is open")
	}
	ledgetest.Until(t, "messages that are given up", failed(3))
	b := logIn(p, t, domain.Operator)
	b.open("/notifications?delivery=failed&ack=false")
	b.until(`[...document.querySelectorAll("#rows td")].filter(td => td.innerText === "1 failed").length === 3`)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	channels := `"channels":[{"type":"REST","host":"127.0.0.1","port":` + port + `,"path":"/in","httpMethod":"POST"}]`
	body := `[{"apiVersion":"v2","subscription":{"name":"warehouse",` + channels + `}}]`
	p.PostJSON(http.MethodPatch, p.Notifications+"/api/v2/subscription", body, http.StatusOK)
	b.click("#rows tbody a")
	b.click("form[action$='/resend'] button")
	b.until(`/SENT/.test(document.querySelector("#note section").innerText) && !document.querySelector("form[action$='/resend']")`)
	ledgetest.Until(t, "one message that arrives", failed(2))
	b.open("/subscriptions/warehouse")
	if replays := ask[int](b, `document.querySelectorAll("form[action$='/replay']").length`); replays != 0 {
		t.Error("a subscription without a ZeroMQ channel has a replay")
	}
	b.click("form[action$='/resend'] button")
	b.until(`/Sent again: 2\./.test(document.querySelector(".notice")?.innerText)`)
	ledgetest.Until(t, "all messages", failed(0))
	b.open("/")
	b.see("#well")
	viewer := p.NewRole(t, domain.Viewer)
	ledgetest.Want(viewer.Post("/subscriptions/warehouse/resend", nil), t, http.StatusForbidden)
	text := viewer.Get("/notifications?subscription=warehouse").Text
	if !strings.Contains(text, "1 sent") || strings.Contains(text, "1 failed") {
		t.Errorf("the list of notifications:\n%s", text)
	}
}

// TestConsoleChangeInWords has a device locked: the list of notifications says so in words, with the user. The page of a notification says
// when it is tried again.
func TestConsoleChangeInWords(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	addRESTSubscription(p, "warehouse", "DEVICE_CHANGED", porttest.Hold(t))
	slow := `[{"apiVersion":"v2","subscription":{"name":"warehouse","resendInterval":"1h"}}]`
	p.PostJSON(http.MethodPatch, p.Notifications+"/api/v2/subscription", slow, http.StatusOK)
	p.AddDevice("gate-cam-1")
	ledgetest.Want(c.Post("/devices", url.Values{"name": {"gate-cam-1"}, "action": {"lock"}}), t, http.StatusSeeOther)
	ledgetest.Until(t, "the notification", func() bool {
		return strings.Contains(c.Get("/notifications").Text, "gate-cam-1 locked by test-operator")
	})
	text := c.Get("/notifications").Text
	all := regexp.MustCompile(`/notifications/[0-9a-f-]{36}`).FindAllString(text, -1)
	at := all[len(all)-1] // the others wait for it
	ledgetest.Until(t, "the next try", func() bool { return strings.Contains(c.Get(at).Text, "RESENDING</span>, next try <time") })
	if strings.Contains(text, "actionType") || !strings.Contains(text, "gate-cam-1 added by anonymous") {
		t.Errorf("the list of notifications:\n%s", text)
	}
}

// TestConsoleConcernsPictures takes pictures of the overview with something of each kind wrong.
func TestConsoleConcernsPictures(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	troubleConsole(p, t)
	b := logIn(p, t, domain.Operator)
	page := p.NewRole(t, domain.Auditor).Get("/notifications?delivery=failed").Text
	ids := regexp.MustCompile(`/notifications/[0-9a-f-]{36}`).FindAllString(page, 1)
	for _, width := range []int{360, 1024, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(int64(width), scheme)
			for name, path := range map[string]string{
				"overview": "/", "devices-silent": "/devices?state=SILENT",
				"notifications-failed": "/notifications?delivery=failed&ack=false", "notification-failed": ids[0],
				"subscription-failed": "/subscriptions/warehouse",
			} {
				b.open(path)
				b.see("h1")
				b.picture("concerns-" + name + "-" + strconv.Itoa(width) + "-" + scheme)
				if wide := ask[bool](b, "document.documentElement.scrollWidth > innerWidth"); wide {
					t.Errorf("%s is wider than a window of %d", path, width)
				}
			}
		}
	}
}
