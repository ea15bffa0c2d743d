package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/bridge/mailtest"
	"ledge/bridge/mqtttest"
	"ledge/bridge/tlstest"
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

// Callbacks and each channel that encrypts trust a server whose CA outgoing-ca has, and none of another one.
func TestOutgoingCA(t *testing.T) {
	t.Parallel()
	ca, other := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "other")
	asked := make(chan string, 100)
	fine, foreign := newTLSReceiver(t, ca, asked), newTLSReceiver(t, other, asked)
	server := mailtest.Start(t, "implicit")
	cert, key := ca.Sign(t, "broker")
	broker := mqtttest.Start(t, "listener PORT 127.0.0.1\nallow_anonymous true\ncertfile DIR/cert\nkeyfile DIR/key\n", map[string]string{"cert": cert, "key": key})
	p := start(t, t.TempDir(), "--outgoing-ca", mustWriteFile(t, "ca.pem", "two of them\n"+ca.PEM+"\n"+server.CA), "--resend-limit", "0",
		"--smtp-host", "127.0.0.1", "--smtp-port", fmt.Sprint(server.Port), "--smtp-tls", "implicit", "--smtp-secret-path", "", "--smtp-sender", "ledge@example.org")
	rest := func(url string) string {
		return strings.Replace(restChannel(t, url, "/hook"), `"type":"REST"`, `"type":"REST","scheme":"https"`, 1)
	}
	for name, channel := range map[string]string{
		"rest": rest(fine), "foreign": rest(foreign), "mail": `{"type":"EMAIL","recipients":["a@example.org"]}`,
		"mqtt": fmt.Sprintf(`{"type":"MQTT","scheme":"ssl","host":"127.0.0.1","port":%d,"publisher":"ledge-1","topic":"alarms","qos":1,"authMode":"none"}`, broker.Port),
	} {
		p.subscribeAll(name, name, channel)
		p.post(name, "x")
		got := p.settled(name, 1)[0]
		if want := map[bool]string{true: "FAILED", false: "SENT"}[name == "foreign"]; got.Status != want || want == "FAILED" && !strings.Contains(got.Records[0].Response, "unknown authority") {
			t.Errorf("%s: got %+v, want %s", name, got, want)
		}
	}
	<-asked
	for i, url := range []string{fine, foreign} {
		name := fmt.Sprint("svc-", i)
		p.postJSON(http.MethodPost, p.metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":%q,"baseAddress":%q,"adminState":"UNLOCKED"}}]`, name, url), http.StatusCreated)
		p.postJSON(http.MethodPatch, p.metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":%q,"labels":["x"]}}]`, name), http.StatusOK)
	}
	if got := <-asked; !strings.HasPrefix(got, "/api/v2/callback/service") {
		t.Errorf("got a call of %s", got)
	}
	p.await("the callback that trusts nobody", func() bool { return strings.Contains(p.log.String(), "unknown authority") })
}

// Each line of the file is read or refused: nobody is to believe that a CA is trusted which is not.
func TestOutgoingCAFile(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewAuthority(t, "ca")
	cert, key := ca.Sign(t, "server")
	for text, want := range map[string]string{
		"": "has no certificate", "text": "has no certificate", key: `has a block of the type "PRIVATE KEY"`, ca.PEM + key: `has a block of the type "PRIVATE KEY"`,
		cert: "CN=server is not that of a CA", ca.PEM + "-----BEGIN CERTIFICATE-----\nbad": "what follows certificate 1 is broken",
		"-----BEGIN CERTIFICATE-----\naGk=\n-----END CERTIFICATE-----\n": "certificate 1: ", strings.Repeat("x", maxOutgoingCA+1): "make it shorter", ca.PEM + ca.PEM: "",
	} {
		path := mustWriteFile(t, "ca.pem", text)
		roots, err := outgoingRoots(path)
		if want == "" && (err != nil || roots == nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "setting outgoing-ca: "+path)) {
			t.Errorf("%.60q: got %v, want %q", text, err, want)
		}
	}
	if roots, err := outgoingRoots(""); roots != nil || err != nil {
		t.Errorf("no path: %v", err)
	}
	if _, err := outgoingRoots(filepath.Join(t.TempDir(), "none.pem")); !os.IsNotExist(errors.Unwrap(err)) {
		t.Errorf("no file: got %v", err)
	}
}
