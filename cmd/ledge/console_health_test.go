package main

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/domain"
)

// addRESTSubscription adds a subscription that tries twice.
func (p *process) addRESTSubscription(name, category string, port int) {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","categories":[%q],
		"adminState":"UNLOCKED","resendLimit":1,"resendInterval":"1ms","channels":[{"type":"REST","host":"127.0.0.1","port":%d,"path":"/in","httpMethod":"POST"}]}}]`,
		name, category, port), http.StatusCreated)
}

// TestConsoleGivenUp has messages given up. No page says that all is well, until one arrives or the subscription changes.
func TestConsoleGivenUp(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c, viewer := p.newRole(t, domain.Operator), p.newRole(t, domain.Viewer)
	c.get("/").want(t, http.StatusOK, "Everything works.")
	port := porttest.Hold(t)
	p.addRESTSubscription("warehouse", "door", port)
	c.get("/subscriptions/warehouse").want(t, http.StatusOK, "No message has been sent since")
	for i := range 5 {
		p.post("door", "opened")
		until(t, "a message that is given up", func() bool {
			all := p.transmissions("subscription/name/warehouse")
			return len(all) == i+1 && all[0].Status == domain.StatusFailed
		})
	}
	const lost = "The last 5 of 5 messages failed; given up"
	for _, path := range []string{"/", "/subscriptions", "/subscriptions/warehouse"} {
		c.get(path).want(t, http.StatusOK, `<span class="bad">`+lost, "connection refused")
		text := viewer.get(path).text
		if !strings.Contains(text, lost) || strings.Contains(text, "connection refused") || strings.Contains(text, `class="bad">hidden`) {
			t.Errorf("a viewer does not see that messages are lost, or sees why, or sees what is hidden in red, at %s:\n%s", path, text)
		}
	}
	if text := c.get("/").text; strings.Contains(text, "Everything works") {
		t.Errorf("the overview says that everything works:\n%s", text)
	}
	c.get("/subscriptions/warehouse").want(t, http.StatusOK, `<span class="tag bad">FAILED</span>`)
	to := c.post("/subscriptions/warehouse/test", nil).Header.Get("Location")
	until(t, "the failure of the test", func() bool {
		return strings.Contains(html.UnescapeString(c.get(to).text), "The test failed in 1 of 1 transmissions. warehouse: ")
	})

	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	back := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: hangs}}
	back.Start()
	t.Cleanup(back.Close)
	to = c.post("/subscriptions/warehouse/test", nil).Header.Get("Location")
	until(t, "a test that arrives", func() bool { return strings.Contains(c.get(to).text, "The test was sent: 1 transmission.") })
	c.get("/").want(t, http.StatusOK, "Everything works.")
	c.get("/subscriptions").want(t, http.StatusOK, `<span class="good">The last`)

	gone := porttest.Hold(t)
	p.addRESTSubscription("office", "window", gone)
	p.post("window", "opened")
	until(t, "the message to be given up", func() bool { return strings.Contains(c.get("/").text, "The last message failed; given up") })
	c.post("/subscriptions/office/state", url.Values{"adminState": {"LOCKED"}}).want(t, http.StatusSeeOther)
	c.get("/").want(t, http.StatusOK, "Everything works.")
}

// TestConsoleManySubscriptions has more subscriptions than the overview looks at. It says how many it leaves out.
func TestConsoleManySubscriptions(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c := p.newRole(t, domain.Viewer)
	for i := range 50 {
		p.addRESTSubscription(fmt.Sprintf("s-%d", i), "door", 1)
	}
	if text := c.get("/").text; strings.Contains(text, "It leaves out") {
		t.Errorf("the overview leaves some of 50 subscriptions out:\n%s", text)
	}
	p.addRESTSubscription("s-50", "door", 1)
	p.addRESTSubscription("s-51", "door", 1)
	c.get("/").want(t, http.StatusOK, `It leaves out 2 <a href="/subscriptions">others</a>.`)
}

// TestConsoleUnseenCategory has a subscription with a misspelt category say so, also after a test, which has that category.
func TestConsoleUnseenCategory(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c := p.newRole(t, domain.Operator)
	p.addRESTSubscription("gate", "secirity", porttest.Hold(t))
	p.post("security", "a door is open")
	const note = "No notification has had the category secirity; categories seen: DEVICE_CHANGED, security. Did you mean security?"
	c.get("/subscriptions/gate").want(t, http.StatusOK, `<p class="warning unseen-tag">`+note)
	c.post("/subscriptions/gate/test", nil).want(t, http.StatusSeeOther)
	until(t, "the test", func() bool { return len(p.transmissions("subscription/name/gate")) == 1 })
	c.get("/subscriptions/gate").want(t, http.StatusOK, `<p class="warning unseen-tag">`+note)
	for _, path := range []string{"/subscriptions", "/notifications", "/subscriptions/+add", "/notifications/+send"} {
		c.get(path).want(t, http.StatusOK, `<option value="security">security</option>`, `secirity (of a subscription; no recent notification has it)`)
	}
	p.post("secirity", "a name that is meant")
	if text := c.get("/subscriptions/gate").text; strings.Contains(text, "No notification has had") {
		t.Errorf("after a notification with the category:\n%s", text)
	}

	b := p.logIn(t, domain.Operator)
	b.open("/subscriptions/+add")
	b.fill("#f-categories", "DEVICE_CHANGED,")
	ask[bool](b, `document.querySelector("#f-categories").dispatchEvent(new Event("input", {bubbles: true}))`)
	b.until(`[...document.querySelector("#f-categories").list.options].some(o => o.value === "DEVICE_CHANGED, security")`)
}
