// Package rest calls the REST APIs of a running node for commands.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
)

// mostAnswer is the length of the longest answer in bytes.
const mostAnswer = 64 << 20

// API are the REST APIs of a node.
type API struct {
	client *http.Client
	// url returns the beginning of the URLs of a service, such as https://edge-7:59881.
	url   func(service string) string
	token string // empty for none
}

// Local returns the APIs of the server that has the data folder dir. Requests are done in the name of the local user.
func Local(dir string) (*API, error) {
	held, client, err := admin.Attach(dir, false)
	if err != nil {
		return nil, err
	}
	if client == nil {
		const says = "no server has the data folder %s, and this needs a running one; start one with `ledge serve`"
		held.Close()
		return nil, exit.With(exit.Usage, fmt.Errorf(says, dir))
	}
	return &API{client: client.API(), url: func(service string) string { return "http://" + service }}, nil
}

// Remote returns the APIs of another node. at is its address, such as https://edge-7, port the port of a service, and ca a file with the
// certificate of its CA; empty for the CAs of the system.
func Remote(at, token, ca string, port func(services.Service) int) (*API, error) {
	node, err := url.Parse(at)
	isNode := err == nil && (node.Scheme == "https" || node.Scheme == "http") && node.Hostname() != "" && node.Port() == "" &&
		strings.Trim(node.Path, "/") == ""
	if !isNode {
		const says = "--server: %.80q is not the address of a node; use one such as https://edge-7, without a port"
		return nil, exit.With(exit.Usage, fmt.Errorf(says, at))
	}
	if node.Scheme == "http" && token != "" && node.Hostname() != "localhost" && node.Hostname() != "127.0.0.1" {
		return nil, exit.With(exit.Usage, errors.New("--server: a token is sent over https only; use https"))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("--ca: %w", err))
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, exit.With(exit.Usage, fmt.Errorf("--ca: %s has no certificate in PEM", ca))
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: transport, CheckRedirect: noRedirect}
	return &API{client: client, token: token, url: func(service string) string {
		return node.Scheme + "://" + net.JoinHostPort(node.Hostname(), strconv.Itoa(port(services.Named(service))))
	}}, nil
}

// Call is a request to a service.
type Call struct {
	Method, Service, Path string
	// Body is sent as JSON; nil for none.
	Body any
	// IfMatch is an ETag that the entity has to have; empty for any.
	IfMatch string
	// Accept is the media type of the answer; empty for JSON.
	Accept string
}

// Refusal is the error of an answer with a status of 300 or more.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Do sends a request, decodes the answer into a value unless that is nil, and returns the ETag of the answer. The error of a refusal is a
// [Refusal]; for a fault of the request it has an exit code.
func (a *API) Do(ctx context.Context, c Call, into any) (etag string, err error) {
	answer, err := a.send(ctx, c)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", c.Service, err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			return "", fmt.Errorf("read the answer of %s: %w", c.Service, err)
		}
	}
	return answer.Header.Get("ETag"), nil
}

// Copy sends a request and copies the answer, which is n bytes long. Its errors are those of Do.
func (a *API) Copy(ctx context.Context, c Call, to io.Writer) (n int64, err error) {
	answer, err := a.send(ctx, c)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if n, err = io.Copy(to, answer.Body); err != nil {
		err = fmt.Errorf("copy the answer of %s: %w", c.Service, err)
	}
	return n, err
}

// send sends a request. An answer that refuses it is an error; the body of any other is to be closed.
func (a *API) send(ctx context.Context, c Call) (*http.Response, error) {
	var content io.Reader
	if c.Body != nil {
		text, err := json.Marshal(c.Body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, c.Method, a.url(c.Service)+c.Path, content)
	if err != nil {
		return nil, err
	}
	if c.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.IfMatch != "" {
		r.Header.Set("If-Match", c.IfMatch)
	}
	if c.Accept != "" {
		r.Header.Set("Accept", c.Accept)
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	answer, err := a.client.Do(r)
	if err != nil || answer.StatusCode < http.StatusMultipleChoices {
		return answer, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.Service, err)
	}
	return nil, refusalOf(c.Service, answer.StatusCode, text)
}

// DoOne is Do with a batch of one entity. A refusal of the entity is an error.
func (a *API) DoOne(ctx context.Context, c Call, key string, fields any) error {
	c.Body = []any{map[string]any{"apiVersion": "v2", key: fields}}
	var answer json.RawMessage
	if _, err := a.Do(ctx, c, &answer); err != nil {
		return err
	}
	var items []struct {
		StatusCode int
		Message    string
	}
	if json.Unmarshal(answer, &items) == nil && len(items) == 1 && items[0].StatusCode >= http.StatusMultipleChoices {
		return &Refusal{items[0].StatusCode, items[0].Message}
	}
	return nil
}

// refusalOf returns the error of an answer.
func refusalOf(service string, status int, text []byte) error {
	var failure struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &failure) != nil || failure.Message == "" {
		failure.Message = fmt.Sprintf("%s answers %d: %.200q", service, status, text)
	}
	r := &Refusal{status, failure.Message}
	if status == http.StatusBadRequest {
		return exit.With(exit.Usage, r)
	}
	return r
}
