package ledgetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/domain"

	"github.com/nats-io/nats.go"
)

// Secured is a program in secure mode, with a client that trusts its CA.
type Secured struct {
	*Node
	Client *http.Client
	Tokens map[domain.Role]string
}

// StartSecured starts secure mode on an empty folder, with a token for each role. That of the poster is for devices called cam-*.
func StartSecured(t *testing.T, flags ...string) *Secured {
	t.Helper()
	s := &Secured{Node: Start(t, t.TempDir(), append([]string{"--secure"}, flags...)...), Tokens: map[domain.Role]string{}}
	s.Trust(t)
	for _, role := range domain.Roles() {
		s.Tokens[role] = s.CreateToken(t, "a-"+string(role), role, "cam-*")
	}
	return s
}

// Trust makes the client.
func (s *Secured) Trust(t *testing.T) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(CA(s.Node)))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, DialContext: DialLocal}
	t.Cleanup(transport.CloseIdleConnections)
	s.Client = &http.Client{Transport: transport, Timeout: Timeout}
}

// CreateToken makes a token with the command line. Devices restrict a poster.
func (s *Secured) CreateToken(t *testing.T, name string, role domain.Role, devices string) string {
	t.Helper()
	args := []string{"token", "create", "--data-dir", s.Dir, name, "--role", string(role)}
	if role == domain.Poster {
		args = append(args, "--devices", devices)
	}
	out, stderr, code := Run(t, args...)
	if code != exit.OK {
		t.Fatalf("ledge %v: %d %s", args, code, stderr)
	}
	return strings.TrimSpace(out)
}

// Send sends a request with a token, or with none where it is empty.
func (s *Secured) Send(token, method, url, contentType, body string) Answer {
	s.TB.Helper()
	req, err := http.NewRequestWithContext(s.TB.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.TB.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		s.TB.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.TB.Fatalf("%s %s: %v", method, url, err)
	}
	return Answer{resp.StatusCode, string(b), resp.Header}
}

// Login returns a token for a user's password.
func (s *Secured) Login(name, password string) (token string, a Answer) {
	s.TB.Helper()
	body, _ := json.Marshal(map[string]string{"username": name, "password": password})
	a = s.Send("", http.MethodPost, s.Metadata+"/api/v2/login", "application/json", string(body))
	var answer struct{ Token string }
	_ = json.Unmarshal([]byte(a.Body), &answer)
	return answer.Token, a
}

// Step is one request of the specification's flow.
type Step struct {
	Name, Method, Url, ContentType, Body string
	Roles                                []domain.Role // that may send it; the first one does
	Want                                 int           // of the answer or, where that is 207, of its first element
}

// Specification is the flow of the user's specification: profile, device, data, subscription, a change, and what came of it.
func (s *Secured) Specification(port int) []Step {
	changers := []domain.Role{domain.Operator, domain.Admin}
	servers := []domain.Role{domain.Operator, domain.Admin, domain.Service}
	posters := []domain.Role{domain.Poster, domain.Operator, domain.Admin, domain.Service}
	readers := []domain.Role{domain.Viewer, domain.Operator, domain.Auditor, domain.Admin, domain.Service}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, _ := w.CreateFormFile("file", "profile.yaml")
	_, _ = io.WriteString(file, "name: lane\ndeviceResources:\n  - name: jpeg\n    properties: {valueType: Binary, readWrite: R, mediaType: image/jpeg}\n")
	w.Close()
	device := `[{"apiVersion":"v2","device":{"name":"cam-1","adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"lane","protocolName":"rest","protocols":{"other":{"Address":"a"}}}}]`
	subscription := fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"watch","receiver":"r","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, port)
	const isJSON = "application/json"
	return []Step{
		{"upload the profile", http.MethodPost, s.Metadata + "/api/v2/deviceprofile/uploadfile", w.FormDataContentType(), form.String(), servers, http.StatusCreated},
		{"add the device", http.MethodPost, s.Metadata + "/api/v2/device", isJSON, device, servers, http.StatusCreated},
		{"read the device", http.MethodGet, s.Metadata + "/api/v2/device/name/cam-1", "", "", readers, http.StatusOK},
		{"post a picture", http.MethodPost, s.DeviceREST + "/api/v2/resource/cam-1/jpeg", "image/jpeg", "\xff\xd8picture", posters, http.StatusOK},
		{"read the readings", http.MethodGet, s.CoreData + "/api/v2/reading/device/name/cam-1", "", "", readers, http.StatusOK},
		{"list the commands", http.MethodGet, s.URLs[services.Command] + "/api/v2/device/name/cam-1", "", "", readers, http.StatusOK},
		{"read from the device", http.MethodGet, s.URLs[services.Command] + "/api/v2/device/name/cam-1/jpeg", "", "", servers,
			http.StatusInternalServerError},
		{"write to the device", http.MethodPut, s.URLs[services.Command] + "/api/v2/device/name/cam-1/jpeg", isJSON, "{}", servers,
			http.StatusInternalServerError},
		{"subscribe", http.MethodPost, s.Notifications + "/api/v2/subscription", isJSON, subscription, servers, http.StatusCreated},
		{"change the device", http.MethodPatch, s.Metadata + "/api/v2/device", isJSON, `[{"apiVersion":"v2","device":{"name":"cam-1","adminState":"LOCKED"}}]`, servers, http.StatusOK},
		{"read the settings", http.MethodGet, s.Metadata + "/api/v2/config", "", "", readers, http.StatusOK},
		{"read the metrics", http.MethodGet, s.Metadata + "/metrics", "", "", readers, http.StatusOK},
		{"read the notifications", http.MethodGet, s.Notifications + "/api/v2/notification/category/DEVICE_CHANGED", "", "", readers, http.StatusOK},
		{"store a secret", http.MethodPost, s.Notifications + "/api/v2/secret", isJSON, `{"apiVersion":"v2","path":"smtp","secretData":[{"key":"password","value":"` + MailPassword + `"}]}`, changers, http.StatusCreated},
		{"remove the device", http.MethodDelete, s.Metadata + "/api/v2/device/name/cam-1", "", "", servers, http.StatusOK},
	}
}

// MailPassword is the password of the mail server that secured nodes are told.
const MailPassword = "mail-pass-4711-not-to-be-seen"

// ConnectNATS connects to the bus with a token.
func (s *Secured) ConnectNATS(t *testing.T, token string, o ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.NATS, "tls://"))
	nc, err := nats.Connect("tls://127.0.0.1:"+port, append(o, nats.RootCAs(MustWriteFile(t, "ca.pem", CA(s.Node))), nats.Token(token), nats.NoReconnect(), nats.Timeout(Timeout))...)
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, err
}

// WantAnswersHidden holds that a viewer sees no events with answers of receivers or device services, which an operator sees.
func (s *Secured) WantAnswersHidden(t *testing.T, viewer *nats.Conn) {
	t.Helper()
	operator, err := s.ConnectNATS(t, s.Tokens[domain.Operator])
	if err != nil {
		t.Fatal(err)
	}
	var subs []*nats.Subscription
	for _, nc := range []*nats.Conn{viewer, operator} {
		sub, err := nc.SubscribeSync("ledge.>")
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "an answer") }))
	t.Cleanup(receiver.Close)
	host, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	s.Send(s.Tokens[domain.Operator], http.MethodPost, s.Notifications+"/api/v2/subscription", "application/json", fmt.Sprintf(
		`[{"apiVersion":"v2","subscription":{"name":"rest","receiver":"r","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],"channels":[{"type":"REST","host":%q,"port":%s,"path":"/","httpMethod":"POST"}]}}]`, host, port))
	s.Send(s.Tokens[domain.Operator], http.MethodPatch, s.Metadata+"/api/v2/device", "application/json", `[{"apiVersion":"v2","device":{"name":"sample-image","adminState":"LOCKED"}}]`)
	s.Send(s.Tokens[domain.Operator], http.MethodPut, s.URLs[services.Command]+"/api/v2/device/name/sample-image/jpeg",
		"application/json", "{}")
	isAnswer := func(m *nats.Msg) bool {
		return strings.HasSuffix(m.Subject, ".tried") || strings.HasSuffix(m.Subject, ".processed")
	}
	isCommand := func(m *nats.Msg) bool { return strings.HasPrefix(m.Subject, "ledge.event.command.") }
	for answered, issued := false, false; !answered || !issued; {
		m, err := subs[1].NextMsg(Timeout)
		if err != nil {
			t.Fatalf("the operator sees a transmission: %t, a command: %t; %v", answered, issued, err)
		}
		answered, issued = answered || isAnswer(m), issued || isCommand(m)
	}
	if err := viewer.Flush(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for ; ; seen++ {
		n, _, err := subs[0].Pending()
		if err != nil || n == 0 {
			break
		}
		if m, err := subs[0].NextMsg(Timeout); err != nil || isAnswer(m) || isCommand(m) {
			t.Errorf("the viewer sees %v, %v", m, err)
		}
	}
	if seen == 0 {
		t.Error("the viewer sees nothing")
	}
}

// Client11 and those after it are the newest versions of TLS that a client speaks.
const (
	Client11 = tls.VersionTLS11
	Client12 = tls.VersionTLS12
	Client13 = tls.VersionTLS13
)

// OverTLS gets a URL with the roots in PEM and one connection for all calls.
func OverTLS(t *testing.T, roots string, newest uint16) func(url string, header ...string) (Answer, error) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(roots))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: Client11, MaxVersion: newest}, MaxConnsPerHost: 1, DialContext: DialLocal}
	t.Cleanup(transport.CloseIdleConnections)
	c := &http.Client{Transport: transport, Timeout: Timeout}
	return func(url string, header ...string) (Answer, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			return Answer{}, err
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := c.Do(req)
		if err != nil {
			return Answer{}, err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return Answer{resp.StatusCode, string(b), resp.Header}, err
	}
}

// DialLocal connects to a port of this machine at 127.0.0.1, whatever address of the machine a URL has. Certificates are checked for that one.
func DialLocal(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
}

// At is a service's URL at another host and with another scheme.
func At(t *testing.T, url, scheme, host string) string {
	t.Helper()
	return fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, fmt.Sprint(URLPort(t, url))))
}

// CA returns the path of a file with the certificate of the node's own authority.
func CA(p *Node) string {
	p.TB.Helper()
	out, stderr, code := Run(p.TB, "ca", "--data-dir", p.Dir)
	if code != exit.OK {
		p.TB.Fatalf("ledge ca: %d %s", code, stderr)
	}
	return out
}
