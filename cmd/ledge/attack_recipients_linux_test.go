package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
)

// The attack: subscriptions whose transmissions for one notification take more than a message on the log holds.
const (
	mailSubscriptions = 40
	mailChannels      = 64
	mailRecipients    = 64
)

// mailSubscription asks for a category with as many channels and recipients as there may be.
func mailSubscription(name, category, recipient string) string {
	recipients := make([]string, mailRecipients)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("%q", fmt.Sprint("r", i, recipient))
	}
	channel := `{"type":"EMAIL","recipients":[` + strings.Join(recipients, ",") + `]}`
	return alarmJSON(name, category, strings.TrimSuffix(strings.Repeat(channel+",", mailChannels), ","))
}

// alarmJSON is a subscription to one category: not to the changes of devices, which the bystander makes all the time.
func alarmJSON(name, category, channels string) string {
	return strings.Replace(subscriptionJSON(name, category, channels), `,"DEVICE_CHANGED"`, "", 1)
}

// collect is a REST receiver that hands over what it gets.
func collect(t *testing.T) (url string, bodies chan string) {
	t.Helper()
	bodies = make(chan string, 4096)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
	}))
	t.Cleanup(s.Close)
	return s.URL, bodies
}

// 40 subscriptions with 64 e-mail channels of 64 long addresses each take 36 MB on the log for one notification, which a message does not hold.
// Those who subscribed to the same alarm over REST and ZeroMQ get it all the same, and every channel is on record.
func TestAttackManyRecipients(t *testing.T) {
	a := startAttack(t, "--smtp-server", fmt.Sprint("smtp+plain://127.0.0.1:", porttest.Hold(t)), "--smtp-sender", "ledge@example.com",
		"--resend-limit", "1", "--log-level", "debug")
	url, bodies := collect(t)
	port := porttest.Hold(t)
	address := strings.Repeat("a", 50) + "@" + strings.Repeat("b", 150) + ".example"
	for i := range mailSubscriptions {
		a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription", mailSubscription(fmt.Sprint("mail-", i), "alarm", address), http.StatusCreated)
	}
	a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription", alarmJSON("a-first", "alarm", restChannel(t, url, "/")), http.StatusCreated)
	a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription",
		alarmJSON("z-last", "alarm", fmt.Sprintf(`{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}`, port)), http.StatusCreated)
	sub := a.subscribe(port, "t")
	t.Logf("%d MiB before the alarm", a.peak()>>20)
	const channels = mailSubscriptions*mailChannels + 2
	alarm := strings.Replace(notificationJSON("alarm", "fire"), "NORMAL", "CRITICAL", 1)
	a.postJSON(http.MethodPost, a.notifications+"/api/v2/notification", alarm, http.StatusCreated)
	if _, got := sub.next(); got != "fire" {
		t.Errorf("over ZeroMQ: %q", got)
	}
	select {
	case got := <-bodies:
		if got != "fire" {
			t.Errorf("over REST: %q", got)
		}
	case <-time.After(hangs):
		t.Fatal("nothing over REST")
	}
	id := a.notificationOf("alarm")
	a.waitCount("transmission/notification/id/"+id+"?limit=0", func(n int) bool { return n == channels })
	if got := a.settled("a-first", 1); got[len(got)-1].Status != "SENT" {
		t.Errorf("over REST, on record: %+v", got[len(got)-1])
	}
	a.waitLog(`"msg":"endpoint takes no notifications, and is left alone for a while","endpoint":"EMAIL/`)
	for line := range strings.Lines(a.log.String()) {
		if len(line) > 8<<10 || strings.Contains(line, "aaaaaaaaaa") || strings.Contains(line, "not recorded") {
			t.Errorf("%d bytes in a line of the log: %.300s", len(line), line)
		}
	}
	a.held(t)
}

// notificationOf is the id of the only notification of a category.
func (p *process) notificationOf(category string) (id string) {
	p.tb.Helper()
	a := p.call(http.MethodGet, p.notifications+"/api/v2/notification/category/"+category, "", "")
	_, rest, _ := strings.Cut(a.body, `"id":"`)
	if id, _, _ = strings.Cut(rest, `"`); id == "" {
		p.tb.Fatalf("%d %s", a.status, a.body)
	}
	return id
}
