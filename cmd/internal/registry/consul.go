package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"ledge/bridge/outward"
)

// registration is the body of PUT /v1/agent/service/register.
type registration struct {
	ID, Name, Address string
	Port              int
	Check             check
}

// check is the health check of a service. Consul asks an https URL without a look at its certificate, which is often of Ledge's own CA.
type check struct {
	CheckID, Name, Notes, HTTP, Interval string
	TLSSkipVerify                        bool
}

// checkInterval is the interval of EdgeX's services.
const checkInterval = "10s"

// newRegistration returns the registration of a service. Its id and the id, name and notes of its check are those of go-mod-registry.
func newRegistration(s Service) (registration, error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return registration{}, err
	}
	port, err := strconv.Atoi(at.Port())
	return registration{ID: s.Name, Name: s.Name, Address: at.Hostname(), Port: port, Check: check{
		CheckID: s.Name, Name: "Health Check: " + s.Name, Notes: "Check the health of the API",
		HTTP: at.JoinPath("/api/v2/ping").String(), Interval: checkInterval, TLSSkipVerify: at.Scheme == "https",
	}}, err
}

// register has Consul list a service, with its health check and no other.
func (r *Registry) register(ctx context.Context, s Service) error {
	body, err := newRegistration(s)
	if err != nil {
		return fmt.Errorf("register %s: %w", s.Name, err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("register %s: %w", s.Name, err)
	}
	return r.put(ctx, s, "/v1/agent/service/register?replace-existing-checks=true", text)
}

// deregister has Consul forget a service and its check.
func (r *Registry) deregister(ctx context.Context, s Service) error {
	err := r.put(ctx, s, "/v1/agent/service/deregister/"+url.PathEscape(s.Name), nil)
	if statusOf(err) == http.StatusNotFound { // it has forgotten the service already
		return nil
	}
	return err
}

// refusal is an answer of Consul that is an error.
type refusal struct {
	status int
	text   string // of the body, as much as is shown
}

func (e *refusal) Error() string {
	cure := "look at the log of Consul"
	if e.status == http.StatusForbidden || e.status == http.StatusUnauthorized {
		cure = "put a token that may write services into the file ledge-registry-token of $CREDENTIALS_DIRECTORY"
	}
	return fmt.Sprintf("Consul answered %d %q; %s", e.status, e.text, cure)
}

// shownBytes is how much of an answer is read and shown.
const shownBytes = 200

// put sends a PUT about a service to Consul. The error names the service, the reason and the cure.
func (r *Registry) put(ctx context.Context, s Service, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+r.Address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if r.Token != "" {
		req.Header.Set("X-Consul-Token", r.Token)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		if !outward.Permanent(err) { // the guard's refusal has its own cure
			err = fmt.Errorf("%w; start Consul there, or correct the setting registry", err)
		}
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, shownBytes)) // the status alone is an error too
	return fmt.Errorf("%s: %w", s.Name, &refusal{resp.StatusCode, outward.Cut(string(text))})
}

// maxHeader bounds the header of an answer, in bytes.
const maxHeader = 16 << 10

// newClient returns a client that connects with dial, follows no redirect and uses no proxy.
func newClient(dial outward.Dial) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DialContext: dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
