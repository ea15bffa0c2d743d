package console

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
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// addRESTSubscription adds a subscription that tries twice.
func addRESTSubscription(p *ledgetest.Node, name, category string, port int) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","categories":[%q],
		"adminState":"UNLOCKED","resendLimit":1,"resendInterval":"1ms","channels":[{"type":"REST","host":"127.0.0.1","port":%d,"path":"/in","httpMethod":"POST"}]}}]`,
		name, category, port), http.StatusCreated)
}

// TestConsoleGivenUp has messages given up. A later message that arrives and an edit of the subscription do not hide that: only
// an acknowledgement of the notifications does.
func TestConsoleGivenUp(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c, viewer := p.NewRole(t, domain.Operator), p.NewRole(t, domain.Viewer)
	ledgetest.Want(c.Get("/"), t, http.StatusOK, "All is well.")
	port := porttest.Hold(t)
	addRESTSubscription(p, "warehouse", "door", port)
	ledgetest.Want(c.Get("/subscriptions/warehouse"), t, http.StatusOK, "No message has been sent since")
	for i := range 7 {
		ledgetest.PostNotification(p, "door", "opened")
		ledgetest.Until(t, "a message that is given up", func() bool {
			all := p.Transmissions("subscription/name/warehouse")
			return len(all) == i+1 && all[0].Status == domain.StatusFailed
		})
	}
	const lost = "The last 5 messages failed; given up"
	for _, path := range []string{"/subscriptions", "/subscriptions/warehouse"} {
		ledgetest.Want(c.Get(path), t, http.StatusOK, `<span class="bad">`+lost, "connection refused")
		text := viewer.Get(path).Text
		if !strings.Contains(text, lost) || strings.Contains(text, "connection refused") || strings.Contains(text, `class="bad">hidden`) {
			t.Errorf("a viewer does not see that messages are lost, or sees why, or sees what is hidden in red, at %s:\n%s", path, text)
		}
	}
	const failed = "7 notifications have deliveries that were given up"
	ledgetest.Want(viewer.Get("/"), t, http.StatusOK, failed)
	ledgetest.Want(c.Get("/subscriptions/warehouse"), t, http.StatusOK, `<span class="tag bad">FAILED</span>`)

	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	back := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: ledgetest.Timeout}}
	back.Start()
	t.Cleanup(back.Close)
	to := c.Post("/subscriptions/warehouse/test", nil).Header.Get("Location")
	ledgetest.Until(t, "a test that arrives", func() bool { return strings.Contains(c.Get(to).Text, "The test was sent: 1 transmission.") })
	ledgetest.Want(c.Get("/subscriptions"), t, http.StatusOK, `<span class="good">The last`)
	ledgetest.Want(c.Post("/subscriptions/warehouse/state", url.Values{"adminState": {"LOCKED"}}), t, http.StatusSeeOther)
	text := c.Get("/").Text
	if !strings.Contains(text, failed) || strings.Contains(text, "All is well") {
		t.Errorf("after a message that arrived and a change of the subscription:\n%s", text)
	}
	for _, one := range p.Transmissions("subscription/name/warehouse") {
		if one.Status == domain.StatusFailed {
			ledgetest.Want(c.Post("/notifications/"+one.NotificationID+"/acknowledge", nil), t, http.StatusSeeOther)
		}
	}
	ledgetest.Want(c.Get("/"), t, http.StatusOK, "All is well.")
}

// TestConsoleFailedTest has a test of a subscription fail: its page says so.
func TestConsoleFailedTest(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	addRESTSubscription(p, "warehouse", "door", porttest.Hold(t))
	to := c.Post("/subscriptions/warehouse/test", nil).Header.Get("Location")
	ledgetest.Until(t, "the failure of the test", func() bool {
		return strings.Contains(html.UnescapeString(c.Get(to).Text), "The test failed in 1 of 1 transmissions. warehouse: ")
	})
}

// TestConsoleUnseenCategory has a subscription with a misspelt category say so, also after a test, which has that category.
func TestConsoleUnseenCategory(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	addRESTSubscription(p, "gate", "secirity", porttest.Hold(t))
	ledgetest.PostNotification(p, "security", "a door is open")
	const note = "No notification has had the category secirity; categories seen: DEVICE_CHANGED, security. Did you mean security?"
	ledgetest.Want(c.Get("/subscriptions/gate"), t, http.StatusOK, `<p class="warning">`+note)
	ledgetest.Want(c.Post("/subscriptions/gate/test", nil), t, http.StatusSeeOther)
	ledgetest.Until(t, "the test", func() bool { return len(p.Transmissions("subscription/name/gate")) == 1 })
	ledgetest.Want(c.Get("/subscriptions/gate"), t, http.StatusOK, `<p class="warning">`+note)
	for _, path := range []string{"/subscriptions", "/notifications", "/subscriptions/+add", "/notifications/+send"} {
		ledgetest.Want(c.Get(path), t, http.StatusOK, `<option value="security">security</option>`, `secirity (of a subscription; no recent notification has it)`)
	}
	ledgetest.PostNotification(p, "secirity", "a name that is meant")
	if text := c.Get("/subscriptions/gate").Text; strings.Contains(text, "No notification has had") {
		t.Errorf("after a notification with the category:\n%s", text)
	}

	b := logIn(p, t, domain.Operator)
	b.open("/subscriptions/+add")
	b.fill("#f-categories", "DEVICE_CHANGED,")
	ask[bool](b, `document.querySelector("#f-categories").dispatchEvent(new Event("input", {bubbles: true}))`)
	b.until(`[...document.querySelector("#f-categories").list.options].some(o => o.value === "DEVICE_CHANGED, security")`)
}
