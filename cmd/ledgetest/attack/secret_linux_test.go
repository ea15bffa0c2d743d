package attack

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ledge/bridge/mailtest"
	"ledge/bridge/mqtttest"
	"ledge/cmd/ledgetest"
)

// thief listens, and keeps what it is sent.
type thief struct {
	port int
	mu   sync.Mutex
	got  []byte
}

func startThief(t *testing.T) *thief {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &thief{port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.read(conn)
		}
	}()
	return s
}

func (s *thief) read(conn net.Conn) {
	defer conn.Close()
	b := make([]byte, 4<<10)
	n, _ := conn.Read(b) // a login is what a broker is sent first
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, b[:n]...)
}

func (s *thief) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(string(s.got), text)
}

func postSecretFor(p *ledgetest.Node, path, value, uses string) ledgetest.Answer {
	p.TB.Helper()
	if uses != "" {
		uses = `,"allowedUses":[` + uses + `]`
	}
	return p.Call(http.MethodPost, p.Notifications+"/api/v2/secret", "application/json", fmt.Sprintf(
		`{"apiVersion":"v2","path":%q,"secretData":[{"key":"username","value":"me"},{"key":"password","value":%q}]%s}`, path, value, uses))
}

func mqttChannel(host string, port int, more string) string {
	return fmt.Sprintf(`{"type":"MQTT","host":%q,"port":%d,"publisher":"p","topic":"t"%s}`, host, port, more)
}

const withLogin = `,"authMode":"usernamepassword","secretPath":`

// TestAttackSecrets has subscriptions send secrets to hosts that they were not stored for.
func TestAttackSecrets(t *testing.T) {
	mail, thief := mailtest.Start(t, "starttls", "me", ledgetest.Hidden), startThief(t)
	a := startAttack(t, "--smtp-server", fmt.Sprint("smtp://127.0.0.1:", mail.Port, "?from=ledge@example.org"), "--resend-limit", "0")
	use := func(channel, host string, port int, more string) string {
		return fmt.Sprintf(`{"channel":%q,"host":%q,"port":%d%s}`, channel, host, port, more)
	}
	postSecretFor(a.Node, "smtp", ledgetest.Hidden, "") // as a client of EdgeX stores it
	postSecretFor(a.Node, "secured", ledgetest.Hidden, use("MQTT", "127.0.0.1", thief.port, ""))
	postSecretFor(a.Node, "mail", ledgetest.Hidden, use("EMAIL", "127.0.0.1", thief.port, `,"allowInsecure":true`))
	postSecretFor(a.Node, "broker", ledgetest.Hidden, use("MQTT", "broker.example", thief.port, `,"allowInsecure":true`))
	postSecretFor(a.Node, "port", ledgetest.Hidden, use("MQTT", "127.0.0.1", thief.port+1, `,"allowInsecure":true`))
	subscribe := func(method, name, channel, want string) {
		t.Helper()
		got := a.Call(method, a.Notifications+"/api/v2/subscription", "application/json", ledgetest.SubscriptionJSON(name, name, channel))
		if !strings.Contains(got.Body, want) {
			t.Errorf("%s %s: got %s, want %s", method, channel, got.Body, want)
		}
	}
	defer func() {
		if thief.has(ledgetest.Hidden) {
			t.Error("the thief has the secret")
		}
	}()
	subscribe(http.MethodPost, "plain", mqttChannel("127.0.0.1", mail.Port, ""), `"statusCode":201`)
	for i, c := range []struct{ channel, want string }{
		{mqttChannel("127.0.0.1", thief.port, withLogin+`"smtp"`), `channels[0].secretPath: the secret \"smtp\" may not be used for MQTT at 127.0.0.1:`},
		{mqttChannel("127.0.0.1", thief.port, withLogin+`"/smtp/"`), "may not be used for MQTT"},
		{mqttChannel("localhost", thief.port, withLogin+`"smtp"`), "may not be used for MQTT at localhost:"},
		{mqttChannel("127.0.0.1", mail.Port, withLogin+`"smtp"`), "may not be used for MQTT"}, // an e-mail login is none for MQTT
		{mqttChannel("127.0.0.1", thief.port, withLogin+`"mail"`), "may not be used for MQTT"},
		{mqttChannel("127.0.0.1", thief.port, withLogin+`"broker"`), "may not be used for MQTT"},
		{mqttChannel("127.0.0.1", thief.port, withLogin+`"port"`), "may not be used for MQTT"},
		{mqttChannel("127.0.0.1", thief.port, withLogin+`"secured"`), "only over TLS with a verified certificate"},
		{mqttChannel("127.0.0.1", thief.port, `,"scheme":"ssl","skipCertVerify":true`+withLogin+`"secured"`), "only over TLS with a verified certificate"},
	} {
		subscribe(http.MethodPost, fmt.Sprint("s", i), c.channel, `"statusCode":400`)
		subscribe(http.MethodPost, fmt.Sprint("s", i), c.channel, c.want)
		subscribe(http.MethodPatch, "plain", c.channel, `"statusCode":400`)
		ledgetest.PostNotification(a.Node, fmt.Sprint("s", i), "x")
	}
	// A subscription may name a secret that is not there yet. What is stored then says for what it is.
	subscribe(http.MethodPost, "later", mqttChannel("127.0.0.1", thief.port, withLogin+`"later"`), `"statusCode":201`)
	ledgetest.PostNotification(a.Node, "later", "x")
	a.Settled("later", 1)
	postSecretFor(a.Node, "later", ledgetest.Hidden, use("MQTT", "127.0.0.1", thief.port+1, `,"allowInsecure":true`))
	ledgetest.PostNotification(a.Node, "later", "y")
	for _, sent := range a.Settled("later", 2) {
		if got := fmt.Sprint(sent.Records); sent.Status != "FAILED" || !strings.Contains(got, "there is no secret") && !strings.Contains(got, "may not be used for MQTT") {
			t.Errorf("on record is %+v, want FAILED", sent)
		}
	}
	// A secret that is stored anew without uses has none, whoever has allowed some before.
	postSecretFor(a.Node, "anew", "mine", use("MQTT", "127.0.0.1", thief.port, `,"allowInsecure":true`))
	subscribe(http.MethodPost, "anew", mqttChannel("127.0.0.1", thief.port, withLogin+`"anew"`), `"statusCode":201`)
	postSecretFor(a.Node, "anew", ledgetest.Hidden, "")
	ledgetest.PostNotification(a.Node, "anew", "x")
	a.Settled("anew", 1)
	a.held(t)
}

// A secret works for what it is stored for. One that an unmodified client stored works once an operator has stored it again with its uses.
func TestAllowedSecrets(t *testing.T) {
	broker := mqtttest.StartWithAccount(t, "me", ledgetest.Hidden)
	got := broker.Subscribe("me", ledgetest.Hidden)
	p := ledgetest.Start(t, t.TempDir())
	use := func(host string) string {
		return fmt.Sprintf(`{"channel":"MQTT","host":%q,"port":%d,"allowInsecure":true}`, host, broker.Port)
	}
	postSecretFor(p, "unmodified", ledgetest.Hidden, "")
	channel := mqttChannel("127.0.0.1", broker.Port, withLogin+`"unmodified"`)
	if a := p.Call(http.MethodPost, p.Notifications+"/api/v2/subscription", "application/json", ledgetest.SubscriptionJSON("early", "early", channel)); !strings.Contains(a.Body, `post it again with \"allowedUses\"`) {
		t.Errorf("without uses: got %s", a.Body)
	}
	postSecretFor(p, "unmodified", ledgetest.Hidden, use("127.0.0.1"))
	postSecretFor(p, "ledge", ledgetest.Hidden, use("LOCALHOST."))
	for name, host := range map[string]string{"unmodified": "127.0.0.1", "ledge": "localhost"} {
		p.SubscribeAll(name, name, mqttChannel(host, broker.Port, withLogin+fmt.Sprintf("%q", name)))
		ledgetest.PostNotification(p, name, name)
		if body := string((<-got).Payload()); body != name {
			t.Errorf("%s: got %s", name, body)
		}
	}
	for _, bad := range []string{`{"channel":"REST","host":"h","port":1}`, `{"channel":"MQTT","host":"` + ledgetest.Hidden + ` ","port":1}`, `{"channel":"MQTT","host":"h"}`, `{}`, `7`} {
		if a := postSecretFor(p, "bad", ledgetest.Hidden, bad); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "allowedUses") || strings.Contains(a.Body, ledgetest.Hidden) {
			t.Errorf("%s: got %d %s", bad, a.Status, a.Body)
		}
	}
	if a := postSecretFor(p, "bad", ledgetest.Hidden, `{"channel":"MQTT","host":"h","port":1}`+strings.Repeat(`,{"channel":"MQTT","host":"h","port":1}`, 64)); !strings.Contains(a.Body, "allowedUses: has 65 entries; use at most 64") {
		t.Errorf("65 uses: got %d %s", a.Status, a.Body)
	}
	dir := p.Dir
	p.Stop()
	p = ledgetest.Start(t, dir)
	for _, name := range []string{"ledge", "unmodified"} { // the uses are kept
		ledgetest.PostNotification(p, name, "again")
		if body := string((<-got).Payload()); body != "again" {
			t.Errorf("%s: got %s", name, body)
		}
	}
}
