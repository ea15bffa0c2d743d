package delivery

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
	"ledge/cmd/ledgetest"
)

// changeAndPost changes a device and posts a notification of a category.
func changeAndPost(p *ledgetest.Node, category string) {
	p.TB.Helper()
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"sample-image","description":"`+category+`"}}]`, http.StatusOK)
	ledgetest.PostNotification(p, category, "posted")
}

// changeJSON is in the body of a change of the sample device.
const changeJSON = `"deviceName":"sample-image"`

// holdBoth holds that a device change and the notification of changeAndPost arrived, and what is on record of them.
func holdBoth(p *ledgetest.Node, subscription, change, response string, next func() string) {
	p.TB.Helper()
	bodies := next() + "\n" + next()
	for _, want := range []string{change, "posted"} {
		if !strings.Contains(strings.ReplaceAll(bodies, "\r\n", "\n"), want) {
			p.TB.Errorf("%s: got %s, want %s in it", subscription, bodies, want)
		}
	}
	for _, sent := range p.Settled(subscription, 2) {
		if sent.Status != "SENT" || len(sent.Records) != 1 || sent.Records[0].Response != response {
			p.TB.Errorf("%s: on record is %+v, want SENT and %q", subscription, sent, response)
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
	p := ledgetest.Start(t, t.TempDir())
	p.SubscribeAll("rest", "alarm", ledgetest.RestChannel(t, s.URL, "/"))
	changeAndPost(p, "alarm")
	holdBoth(p, "rest", changeJSON, "202 Accepted", func() string { return <-bodies })
}

// TestAnswersOnRecord holds what is on record of each kind of answer, and for how long it is asked again.
func TestAnswersOnRecord(t *testing.T) {
	const notShown = " (answers of this machine are not shown)"
	s := ledgetest.NewReceiver(t)
	p := ledgetest.Start(t, t.TempDir(), "--resend-limit", "1", "--resend-interval", "1ms")
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
		p.SubscribeAll(name, name, ledgetest.RestChannel(t, s.URL, c.path))
		ledgetest.PostNotification(p, name, "x")
		got := p.Settled(name, 1)[0]
		if last := len(got.Records) - 1; got.Status != c.status || last+1 != c.tries || got.Records[last].Response != c.response {
			t.Errorf("%s: on record is %+v, want %+v", c.path, got, c)
		}
	}
}

// A host with a scheme is accepted, as EdgeX 2.3 accepts it, and the notification arrives.
func TestHostWithScheme(t *testing.T) {
	s := ledgetest.NewReceiver(t)
	p := ledgetest.Start(t, t.TempDir(), "--resend-limit", "0")
	channel := ledgetest.RestChannel(t, s.URL, "/hook/ok")
	p.SubscribeAll("till", "alarm", strings.Replace(channel, "127.0.0.1", "http://127.0.0.1", 1))
	a := p.Call(http.MethodGet, p.Notifications+"/api/v2/subscription/name/till", "", "")
	if want := `{"type":"REST","scheme":"http","host":"127.0.0.1",`; !strings.Contains(a.Body, want) {
		t.Errorf("got %d %s, want %s", a.Status, a.Body, want)
	}
	ledgetest.PostNotification(p, "alarm", "x")
	if got := p.Settled("till", 1)[0]; got.Status != "SENT" {
		t.Errorf("on record is %+v, want SENT", got)
	}
}

// The account is a secret: the server takes it, and nobody else sees it.
func TestDeliveryByEmail(t *testing.T) {
	s := mailtest.Start(t, "starttls", "me", ledgetest.Hidden)
	dir := t.TempDir()
	t.Setenv("SSL_CERT_FILE", ledgetest.MustWriteFile(t, "ca.pem", s.CA))
	p := ledgetest.Start(t, dir, "--log-level", "debug", "--smtp-server", fmt.Sprint("smtp://127.0.0.1:", s.Port, "?from=ledge@example.org"))
	postOwnSecret(p, "smtp", "")
	p.SubscribeAll("mail", "alarm", `{"type":"EMAIL","recipients":["a@example.org","b@example.org"]}`)
	changeAndPost(p, "alarm")
	holdBoth(p, "mail", "Device update: sample-image", "250 kept", func() string {
		m := s.Next()
		if !m.TLS || m.User != "me" || len(m.To) != 2 {
			t.Errorf("taken: %+v", m)
		}
		return m.Data
	})
	holdHidden(p)
}

// The same of a broker.
func TestDeliveryByMQTT(t *testing.T) {
	b := mqtttest.StartWithAccount(t, "me", ledgetest.Hidden)
	got := b.Subscribe("me", ledgetest.Hidden)
	p := ledgetest.Start(t, t.TempDir(), "--log-level", "debug")
	postOwnSecret(p, "broker", fmt.Sprintf(`,"allowedUses":[{"channel":"MQTT","host":"127.0.0.1","port":%d,"allowInsecure":true}]`, b.Port))
	p.SubscribeAll("mqtt", "alarm", fmt.Sprintf(`{"type":"MQTT","host":"127.0.0.1","port":%d,"publisher":"ledge-1","topic":"alarms","qos":1,"authMode":"usernamepassword","secretPath":"broker"}`, b.Port))
	changeAndPost(p, "alarm")
	holdBoth(p, "mqtt", changeJSON, "published with QoS 1, acknowledged", func() string { return string((<-got).Payload()) })
	holdHidden(p)
}

func postOwnSecret(p *ledgetest.Node, path, uses string) {
	p.TB.Helper()
	a := p.Call(http.MethodPost, p.Notifications+"/api/v2/secret", "application/json", fmt.Sprintf(
		`{"apiVersion":"v2","path":%q,"secretData":[{"key":"username","value":"me"},{"key":"password","value":%q}]%s}`, path, ledgetest.Hidden, uses))
	if a.Status != http.StatusCreated {
		p.TB.Fatalf("POST secret: %d %s", a.Status, a.Body)
	}
}

// holdHidden stops p and holds that the secret is in its file and nowhere else.
func holdHidden(p *ledgetest.Node) {
	p.TB.Helper()
	for _, path := range []string{"config", "transmission/all", "subscription/all", "notification/status/PROCESSED"} {
		if a := p.Call(http.MethodGet, p.Notifications+"/api/v2/"+path, "", ""); a.Status != http.StatusOK || strings.Contains(a.Body, ledgetest.Hidden) {
			p.TB.Errorf("GET %s: %d %s", path, a.Status, a.Body)
		}
	}
	if out, _, code := ledgetest.Run(p.TB, "log", "--data-dir", p.Dir); code != exit.OK || strings.Contains(out, ledgetest.Hidden) || !strings.Contains(out, "transmission.tried") {
		p.TB.Errorf("ledge log: exit code %d, %s", code, out)
	}
	p.Stop()
	if strings.Contains(p.Log.String(), ledgetest.Hidden) {
		p.TB.Error("the secret is in the process's log")
	}
	onlyIn(p.TB, p.Dir, "secrets.json")
}

// What could never be delivered is refused when it is posted, with the field and the cure.
func TestRefusedChannels(t *testing.T) {
	fine := ledgetest.RestChannel(t, ledgetest.NewReceiver(t).URL, "/hook/ok")
	p := ledgetest.Start(t, t.TempDir())
	zeroMQ := func(port int) string {
		return fmt.Sprintf(`{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}`, port)
	}
	for _, c := range []struct{ channel, want string }{
		{`{"type":"REST","host":"169.254.169.254","port":80,"path":"/latest","httpMethod":"GET"}`, "channels[1].host: 169.254.169.254 is refused as a destination by the entry 169.254.0.0/16 of the setting deny-destinations; choose another host or change that setting"},
		{`{"type":"REST","host":"::ffff:169.254.169.254","port":80,"path":"/latest","httpMethod":"GET"}`, "channels[1].host: "},
		{`{"type":"REST","host":"http://169.254.169.254","port":80,"httpMethod":"GET"}`, "channels[1].host: 169.254.169.254 is refused"},
		{`{"type":"MQTT","host":"metadata.google.internal","port":80,"publisher":"p","topic":"t"}`, "channels[1].host: metadata.google.internal is refused"},
		{zeroMQ(80), "channels[1].port: 80 is privileged; choose one from 1024 to 65535"},
		{zeroMQ(ledgetest.URLPort(t, p.Notifications)), "channels[1].port: " + fmt.Sprint(ledgetest.URLPort(t, p.Notifications)) + " is Ledge's own, for support-notifications; choose another"},
		{`{"type":"EMAIL","recipients":["a@example.org"]}`, "channels[1].type: EMAIL cannot be delivered, because there is no mail server; name one in the setting smtp-server"},
	} {
		a := p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", ledgetest.SubscriptionJSON("s", "c", fine+","+c.channel), http.StatusBadRequest)
		if !strings.Contains(a.Body, c.want) {
			t.Errorf("%s: got %s, want %q", c.channel, a.Body, c.want)
		}
	}
	p.SubscribeAll("s", "c", fine) // nothing of what was refused is left
}
