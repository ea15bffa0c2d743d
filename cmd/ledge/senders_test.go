package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/bridge/mailtest"
	"ledge/bridge/mqtttest"
	"ledge/cmd/internal/exit"
)

// changeAndPost changes a device and posts a notification of a category.
func (p *process) changeAndPost(category string) {
	p.tb.Helper()
	p.postJSON(http.MethodPatch, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"sample-image","description":"`+category+`"}}]`, http.StatusOK)
	p.post(category, "posted")
}

func (p *process) post(category, content string) {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/notification", notificationJSON(category, content), http.StatusCreated)
}

func notificationJSON(category, content string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","notification":{"category":%q,"content":%q,"contentType":"text/plain","sender":"me","severity":"NORMAL"}}]`, category, content)
}

// holdBoth holds that a device change and the notification of changeAndPost arrived, and what is on record of them.
func (p *process) holdBoth(subscription, response string, next func() string) {
	p.tb.Helper()
	bodies := next() + "\n" + next()
	for _, want := range []string{`"deviceName":"sample-image"`, "posted"} {
		if !strings.Contains(strings.ReplaceAll(bodies, "\r\n", "\n"), want) {
			p.tb.Errorf("%s: got %s, want %s in it", subscription, bodies, want)
		}
	}
	for _, sent := range p.settled(subscription, 2) {
		if sent.Status != "SENT" || len(sent.Records) != 1 || sent.Records[0].Response != response {
			p.tb.Errorf("%s: on record is %+v, want SENT and %q", subscription, sent, response)
		}
	}
}

func TestDeliveryByREST(t *testing.T) {
	bodies := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "thank you for the "+r.Method)
	}))
	t.Cleanup(s.Close)
	p := start(t, t.TempDir())
	p.subscribeAll("rest", "alarm", restChannel(t, s.URL, "/"))
	p.changeAndPost("alarm")
	p.holdBoth("rest", "202 Accepted", func() string { return <-bodies })
}

// TestAnswersOnRecord holds what is on record of each kind of answer, and for how long it is asked again.
func TestAnswersOnRecord(t *testing.T) {
	const notShown = " (answers of this machine are not shown)"
	s := newReceiver(t)
	p := start(t, t.TempDir(), "--resend-limit", "1", "--resend-interval", "1ms")
	for _, c := range []struct {
		path, status, response string
		tries                  int
	}{
		{"/hook/ok", "SENT", "200 OK", 1},
		{"/hook/created", "SENT", "201 Created", 1},
		{"/hook/fail", "FAILED", "answered 500 Internal Server Error" + notShown, 2},
		{"/hook/full", "FAILED", "answered 503 Service Unavailable" + notShown, 2},
		{"/hook/lacking", "FAILED", "answered 404 Not Found" + notShown, 1},
		{"/hook/redirect", "FAILED", `answered 302 Found; redirects are followed to the same scheme, host and port and with the same method only, 3 times: correct the channel` + notShown, 1},
	} {
		name := strings.TrimPrefix(c.path, "/hook/")
		p.subscribeAll(name, name, restChannel(t, s.URL, c.path))
		p.post(name, "x")
		got := p.settled(name, 1)[0]
		if last := len(got.Records) - 1; got.Status != c.status || last+1 != c.tries || got.Records[last].Response != c.response {
			t.Errorf("%s: on record is %+v, want %+v", c.path, got, c)
		}
	}
}

// The account is a secret: the server takes it, and nobody else sees it.
func TestDeliveryByEmail(t *testing.T) {
	s := mailtest.Start(t, "starttls", "me", hidden)
	dir := t.TempDir()
	t.Setenv("SSL_CERT_FILE", mustWriteFile(t, "ca.pem", s.CA))
	p := start(t, dir, "--log-level", "debug", "--smtp-server", fmt.Sprint("smtp://127.0.0.1:", s.Port), "--smtp-sender", "ledge@example.org")
	p.postOwnSecret("smtp", "")
	p.subscribeAll("mail", "alarm", `{"type":"EMAIL","recipients":["a@example.org","b@example.org"]}`)
	p.changeAndPost("alarm")
	p.holdBoth("mail", "250 kept", func() string {
		m := s.Next()
		if !m.TLS || m.User != "me" || len(m.To) != 2 {
			t.Errorf("taken: %+v", m)
		}
		return m.Data
	})
	p.holdHidden()
}

// The same of a broker.
func TestDeliveryByMQTT(t *testing.T) {
	b := mqtttest.StartWithAccount(t, "me", hidden)
	got := b.Subscribe("me", hidden)
	p := start(t, t.TempDir(), "--log-level", "debug")
	p.postOwnSecret("broker", fmt.Sprintf(`,"allowedUses":[{"channel":"MQTT","host":"127.0.0.1","port":%d,"allowInsecure":true}]`, b.Port))
	p.subscribeAll("mqtt", "alarm", fmt.Sprintf(`{"type":"MQTT","host":"127.0.0.1","port":%d,"publisher":"ledge-1","topic":"alarms","qos":1,"authMode":"usernamepassword","secretPath":"broker"}`, b.Port))
	p.changeAndPost("alarm")
	p.holdBoth("mqtt", "published with QoS 1, acknowledged", func() string { return string((<-got).Payload()) })
	p.holdHidden()
}

func (p *process) postOwnSecret(path, uses string) {
	p.tb.Helper()
	a := p.call(http.MethodPost, p.notifications+"/api/v2/secret", "application/json", fmt.Sprintf(
		`{"apiVersion":"v2","path":%q,"secretData":[{"key":"username","value":"me"},{"key":"password","value":%q}]%s}`, path, hidden, uses))
	if a.status != http.StatusCreated {
		p.tb.Fatalf("POST secret: %d %s", a.status, a.body)
	}
}

// holdHidden stops p and holds that the secret is in its file and nowhere else.
func (p *process) holdHidden() {
	p.tb.Helper()
	for _, path := range []string{"config", "transmission/all", "subscription/all", "notification/status/PROCESSED"} {
		if a := p.call(http.MethodGet, p.notifications+"/api/v2/"+path, "", ""); a.status != http.StatusOK || strings.Contains(a.body, hidden) {
			p.tb.Errorf("GET %s: %d %s", path, a.status, a.body)
		}
	}
	if out, _, code := ledge(p.tb, "log", "--data-dir", p.dir); code != exit.OK || strings.Contains(out, hidden) || !strings.Contains(out, "transmission.tried") {
		p.tb.Errorf("ledge log: exit code %d, %s", code, out)
	}
	p.stop()
	if strings.Contains(p.log.String(), hidden) {
		p.tb.Error("the secret is in the process's log")
	}
	onlyIn(p.tb, p.dir, "secrets.json")
}

// What could never be delivered is refused when it is posted, with the field and the cure.
func TestRefusedChannels(t *testing.T) {
	fine := restChannel(t, newReceiver(t).URL, "/hook/ok")
	p := start(t, t.TempDir())
	zeroMQ := func(port int) string {
		return fmt.Sprintf(`{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}`, port)
	}
	for _, c := range []struct{ channel, want string }{
		{`{"type":"REST","host":"169.254.169.254","port":80,"path":"/latest","httpMethod":"GET"}`, "channels[1].host: 169.254.169.254 is refused as a destination by the entry 169.254.0.0/16 of the setting deny-destinations; choose another host or change that setting"},
		{`{"type":"REST","host":"::ffff:169.254.169.254","port":80,"path":"/latest","httpMethod":"GET"}`, "channels[1].host: "},
		{`{"type":"MQTT","host":"metadata.google.internal","port":80,"publisher":"p","topic":"t"}`, "channels[1].host: metadata.google.internal is refused"},
		{zeroMQ(80), "channels[1].port: 80 is privileged; choose one from 1024 to 65535"},
		{zeroMQ(urlPort(t, p.notifications)), "channels[1].port: " + fmt.Sprint(urlPort(t, p.notifications)) + " is Ledge's own, for support-notifications; choose another"},
		{`{"type":"EMAIL","recipients":["a@example.org"]}`, "channels[1].type: EMAIL cannot be delivered, because there is no mail server; name one in the setting smtp-server"},
	} {
		a := p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", subscriptionJSON("s", "c", fine+","+c.channel), http.StatusBadRequest)
		if !strings.Contains(a.body, c.want) {
			t.Errorf("%s: got %s, want %q", c.channel, a.body, c.want)
		}
	}
	p.subscribeAll("s", "c", fine) // nothing of what was refused is left
}
