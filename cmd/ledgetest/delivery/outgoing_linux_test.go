package delivery

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/bridge/mailtest"
	"ledge/bridge/mqtttest"
	"ledge/bridge/tlstest"
	"ledge/cmd/ledgetest"
)

// newTLSReceiver answers 200 with a certificate of ca, and says where it was asked.
func newTLSReceiver(t *testing.T, ca *tlstest.Authority, asked chan<- string) string {
	t.Helper()
	cert, key := ca.Sign(t, "receiver")
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path:
		default:
		}
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// Callbacks and each channel that encrypts trust a server whose CA the system trusts, and none of another one.
func TestOutgoingTrust(t *testing.T) {
	ca, other := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "other")
	asked := make(chan string, 100)
	fine, foreign := newTLSReceiver(t, ca, asked), newTLSReceiver(t, other, asked)
	server := mailtest.Start(t, "implicit")
	cert, key := ca.Sign(t, "broker")
	broker := mqtttest.Start(t, "listener PORT 127.0.0.1\nallow_anonymous true\ncertfile DIR/cert\nkeyfile DIR/key\n", map[string]string{"cert": cert, "key": key})
	t.Setenv("SSL_CERT_FILE", ledgetest.MustWriteFile(t, "ca.pem", ca.PEM+"\n"+server.CA)) // which Go reads on Linux
	p := ledgetest.Start(t, t.TempDir(), "--resend-limit", "0", "--smtp-server", fmt.Sprint("smtps://127.0.0.1:", server.Port, "?from=ledge@example.org"))
	rest := func(url string) string {
		return strings.Replace(ledgetest.RestChannel(t, url, "/hook"), `"type":"REST"`, `"type":"REST","scheme":"https"`, 1)
	}
	for name, channel := range map[string]string{
		"rest": rest(fine), "foreign": rest(foreign), "mail": `{"type":"EMAIL","recipients":["a@example.org"]}`,
		"mqtt": fmt.Sprintf(`{"type":"MQTT","scheme":"ssl","host":"127.0.0.1","port":%d,"publisher":"ledge-1","topic":"alarms","qos":1,"authMode":"none"}`, broker.Port),
	} {
		p.SubscribeAll(name, name, channel)
		ledgetest.PostNotification(p, name, "x")
		got := p.Settled(name, 1)[0]
		if want := map[bool]string{true: "FAILED", false: "SENT"}[name == "foreign"]; got.Status != want || want == "FAILED" && !strings.Contains(got.Records[0].Response, "unknown authority") {
			t.Errorf("%s: got %+v, want %s", name, got, want)
		}
	}
	<-asked
	for i, url := range []string{fine, foreign} {
		name := fmt.Sprint("svc-", i)
		p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":%q,"baseAddress":%q,"adminState":"UNLOCKED"}}]`, name, url), http.StatusCreated)
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":%q,"labels":["x"]}}]`, name), http.StatusOK)
	}
	if got := <-asked; !strings.HasPrefix(got, "/api/v2/callback/service") {
		t.Errorf("got a call of %s", got)
	}
	ledgetest.Await(p, "the callback that trusts nobody", func() bool { return strings.Contains(p.Log.String(), "unknown authority") })
}
