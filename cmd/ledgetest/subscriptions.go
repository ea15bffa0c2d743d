package ledgetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// The attack: subscriptions whose transmissions for one notification take more than a message on the log holds.
const (
	MailSubscriptions = 40
	MailChannels      = 64
	mailRecipients    = 64
)

// MailSubscription asks for a category with as many channels and recipients as there may be.
func MailSubscription(name, category, recipient string) string {
	recipients := make([]string, mailRecipients)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("%q", fmt.Sprint("r", i, recipient))
	}
	channel := `{"type":"EMAIL","recipients":[` + strings.Join(recipients, ",") + `]}`
	return AlarmJSON(name, category, strings.TrimSuffix(strings.Repeat(channel+",", MailChannels), ","))
}

// AlarmJSON is a subscription to one category: not to the changes of devices, which the bystander makes all the time.
func AlarmJSON(name, category, channels string) string {
	return strings.Replace(SubscriptionJSON(name, category, channels), `,"DEVICE_CHANGED"`, "", 1)
}

// NewReceiver is what the channels of the recording lead to.
func NewReceiver(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/hook/ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "subscriber ok") })
	mux.HandleFunc("/hook/created", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	mux.HandleFunc("/hook/full", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no room left", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/hook/fail", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.Handle("/hook/redirect", http.RedirectHandler("/hook/ok", http.StatusFound))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// ChannelJSON is a subscription with one ZeroMQ channel, as posted.
func ChannelJSON(name, host string, port int) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"me","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],`+
		`"channels":[{"type":"ZeroMQ","host":%q,"port":%d,"topic":"cam"}]}}]`, name, host, port)
}

// URLPort returns the port of a URL.
func URLPort(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(port)
	return n
}

// AddNamed adds a ZeroMQ subscription whose topic is its name.
func AddNamed(p *Node, name, category string, port int) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","adminState":"UNLOCKED",`+
		`"categories":[%q],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":%q}]}}]`, name, category, port, name), 201)
}

// SubscribeElsewhere adds a subscription that no device change matches: without any, changes raise no notification.
func SubscribeElsewhere(p *Node) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", `[{"apiVersion":"v2","subscription":{"name":"elsewhere","receiver":"r",`+
		`"adminState":"UNLOCKED","categories":["elsewhere"],"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/","httpMethod":"POST"}]}}]`, 201)
}

// Notify posts notifications of a category.
func (p *Node) Notify(category string, contents ...string) {
	p.TB.Helper()
	for _, content := range contents {
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", fmt.Sprintf(
			`[{"apiVersion":"v2","notification":{"category":%q,"content":%q,"sender":"test","severity":"NORMAL"}}]`, category, content), 201)
	}
}

// PostNotification posts a notification of a category.
func PostNotification(p *Node, category, content string) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", NotificationJSON(category, content), http.StatusCreated)
}

// NotificationJSON returns a notification as posted.
func NotificationJSON(category, content string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","notification":{"category":%q,"content":%q,"contentType":"text/plain","sender":"me","severity":"NORMAL"}}]`, category, content)
}

// Transmission is one as it is answered.
type Transmission struct {
	NotificationID, SubscriptionName, Status string
	Records                                  []struct{ Status, Response string }
}

// Transmissions returns those that a path below /transmission lists.
func (p *Node) Transmissions(path string) []Transmission {
	p.TB.Helper()
	a := p.Call(http.MethodGet, p.Notifications+"/api/v2/transmission/"+path, "", "")
	var list struct{ Transmissions []Transmission }
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != http.StatusOK {
		p.TB.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	return list.Transmissions
}

// Settled waits until a subscription has n transmissions, all with their outcome, and returns them, newest first.
func (p *Node) Settled(subscription string, n int) (all []Transmission) {
	p.TB.Helper()
	Await(p, fmt.Sprintf("%d transmissions to %s", n, subscription), func() bool {
		all = p.Transmissions("subscription/name/" + subscription + "?limit=1000")
		for _, t := range all {
			if t.Status == "RESENDING" {
				return false
			}
		}
		return len(all) >= n
	})
	return all
}

// SubscribeAll adds a subscription to all device changes and to a category, with channels in JSON.
func (p *Node) SubscribeAll(name, category, channels string) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", SubscriptionJSON(name, category, channels), http.StatusCreated)
}

// SubscriptionJSON returns a subscription as posted.
func SubscriptionJSON(name, category, channels string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","adminState":"UNLOCKED","categories":[%q,"DEVICE_CHANGED"],"channels":[%s]}}]`, name, category, channels)
}

// RestChannel is a REST channel to a test's server.
func RestChannel(t *testing.T, url, path string) string {
	t.Helper()
	return fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":%q,"httpMethod":"POST"}`, URLPort(t, url), path)
}
