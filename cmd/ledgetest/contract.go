package ledgetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"ledge/handlers/handlerstest"
)

// Contracts hold what the tests of this package ask running programs, and are answered, to the OpenAPI documents.
var Contracts = &contracted{next: http.DefaultTransport, byHost: map[string]*handlerstest.Contract{}, loaded: map[string]*handlerstest.Contract{}}

// contracted sends requests and checks each exchange with a service that it knows.
type contracted struct {
	next http.RoundTripper

	mu     sync.Mutex
	byHost map[string]*handlerstest.Contract
	loaded map[string]*handlerstest.Contract // by the package of the service
	wrong  []string
}

// Know checks each exchange with url against the document of a service.
func (c *contracted) Know(service, url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded[service] == nil {
		document, err := os.ReadFile(Repo("handlers", service, "openapi_merged.yaml"))
		if err != nil {
			panic(err)
		}
		c.loaded[service] = handlerstest.LoadContract(document)
	}
	c.byHost[strings.TrimPrefix(url, "http://")] = c.loaded[service]
}

// Forget is for a service that has ended: its port may be another server's soon.
func (c *contracted) Forget(urls ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, url := range urls {
		delete(c.byHost, strings.TrimPrefix(url, "http://"))
	}
}

func (c *contracted) contract(host string) *handlerstest.Contract {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byHost[host]
}

// RoundTrip implements http.RoundTripper. What breaks off is not checked: it has no answer.
func (c *contracted) RoundTrip(r *http.Request) (*http.Response, error) {
	contract := c.contract(r.URL.Host)
	if contract == nil || r.URL.Path == "/metrics" { // which is beside the API, in the form of Prometheus
		return c.next.RoundTrip(r)
	}
	var sent Output // an answer may come while the body is still being sent
	original := r.Clone(r.Context())
	if r.Body != nil {
		r = r.Clone(r.Context()) // a RoundTripper may not change the request that it is given
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &sent), r.Body}
	}
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(got), failing{err}))
	if err == nil {
		c.check(contract, handlerstest.Exchange{
			Request: original, Sent: []byte(sent.String()), Status: resp.StatusCode, Header: resp.Header, Got: got, Loose: handlerstest.IsLoose(original),
		})
	}
	return resp, nil
}

// failing ends a body as it ended on the wire.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

func (c *contracted) check(contract *handlerstest.Contract, x handlerstest.Exchange) {
	if err := contract.Check(x); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrong = append(c.wrong, err.Error())
	}
}

// report prints what was wrong and returns the exit code of the tests.
func (c *contracted) report(code int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.wrong {
		fmt.Fprintln(os.Stderr, w)
		code = max(code, 1)
	}
	return code
}
