// Package command sends commands to EdgeX device services over HTTP: requests to read from devices and to write to them.
//
// A device service has at most PerService requests under way and Waiting more that wait, so that a slow one takes nothing from the others.
// A command is sent once: a connection is not used again, so that no closed connection is met, and nothing is repeated.
package command

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"ledge/bridge/guard"
	"ledge/bridge/outward"
	"ledge/domain"
)

const (
	// DefaultConcurrency is the default of Limits.Concurrency.
	DefaultConcurrency = 64
	// defaultPerService is the default of Limits.PerService; with less concurrency it is the same share of that.
	defaultPerService = DefaultConcurrency / 8
)

// Limits bound the commands. Zero means the default.
type Limits struct {
	// Concurrency is how many requests are under way, PerService how many of them to one device service: 64 and 8.
	Concurrency, PerService int
	// Waiting is how many requests wait for one device service: 64.
	Waiting int
	// Timeout is how long a request may take, with its wait: 45 s, as in EdgeX 2.3.
	Timeout time.Duration
}

// Options wire a Sender.
type Options struct {
	Limits
	// Guard allows addresses of device services, and hides answers of this machine.
	Guard *guard.Guard
	// Roots are the authorities to trust; nil for the system's.
	Roots *x509.CertPool
	// Self is this instance's id, for the header that ends loops.
	Self string
}

// Sender sends commands. Its methods may be called from several goroutines.
type Sender struct {
	Options
	client   *http.Client
	turns    *turns
	stopping context.Context //nolint:containedctx // ends with Close
	stop     context.CancelFunc
}

// New returns a Sender.
func New(o Options) *Sender {
	o.Concurrency, o.Waiting = cmp.Or(o.Concurrency, DefaultConcurrency), cmp.Or(o.Waiting, 64)
	o.Timeout = cmp.Or(o.Timeout, domain.CommandTimeout)
	o.PerService = cmp.Or(o.PerService, max(1, o.Concurrency*defaultPerService/DefaultConcurrency))
	s := &Sender{Options: o, client: outward.Client(o.Guard.DialContext, o.Roots, 0), turns: newTurns(o.Limits)}
	s.client.Transport.(*http.Transport).DisableKeepAlives = true
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all requests and refuses others.
func (s *Sender) Close() { s.stop() }

// errStopping says that a request ended with the program.
var errStopping = domain.Errorf(domain.Unavailable,
	"the server is stopping, and it is not known whether the device has the command; look at the device")

// IsBuiltIn reports whether a device service is the one inside Ledge.
func (s *Sender) IsBuiltIn(service domain.DeviceService) bool {
	return service.IsBuiltIn(s.Guard.IsOwnURL)
}

// Send sends a request to a device service. The path of r is below the service's base address. correlation is the id of the request that
// caused it. Close the body of the answer. An answer with a status above 207 has at most shownBytes of its text. Of an answer of this
// machine the text is shown if it is an error of EdgeX's.
//
// The error is context.DeadlineExceeded after Timeout, a domain Error if too many requests wait for the service or the program stops, and
// otherwise the reason why the service cannot be reached.
func (s *Sender) Send(ctx context.Context, service domain.DeviceService, r *http.Request, correlation string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	unbind := context.AfterFunc(s.stopping, cancel)
	end := func() { unbind(); cancel() }
	done, err := s.turns.take(ctx, service.Name)
	if err != nil {
		err = s.cause(ctx, err)
		end()
		return nil, err
	}
	resp, err := s.send(ctx, service, r, correlation)
	if err != nil {
		err = s.cause(ctx, err)
		done()
		end()
		return nil, err
	}
	resp.Body = &body{resp.Body, func(err error) error { return s.cause(ctx, err) }, func() { done(); end() }}
	return resp, nil
}

// cause returns why a request failed: its end, if ctx has ended.
func (s *Sender) cause(ctx context.Context, err error) error {
	switch {
	case s.stopping.Err() != nil:
		return errStopping
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

func (s *Sender) send(ctx context.Context, service domain.DeviceService, r *http.Request, correlation string) (*http.Response, error) {
	base, err := url.Parse(service.BaseAddress)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(base.JoinPath(r.URL.EscapedPath()).String()) // JoinPath alone leaves out the first slash after a host
	if err != nil {
		return nil, err
	}
	at.RawQuery = r.URL.RawQuery
	var visible outward.Visible
	r = r.WithContext(visible.Watch(ctx, s.Guard.ShowsAnswer))
	r.URL, r.Host = at, ""
	correlation, hops := domain.CutHops(correlation)
	outward.Trace(r.Header, correlation, hops, s.Self)
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, visible.Error(err)
	}
	if resp.StatusCode > http.StatusMultiStatus {
		err = shortenError(resp, visible.Hidden())
	}
	return resp, err
}

// shownBytes is how much of an error is shown.
const shownBytes = outward.ResponseBytes

// shortenError replaces the body of an error by the text that is shown.
func shortenError(resp *http.Response, hidden bool) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, shownBytes))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	to := resp.Header.Get("Location")
	if hidden && !outward.IsEdgeX(text) {
		text, to = []byte(outward.NotShown), outward.NotShown
	}
	if resp.StatusCode < http.StatusBadRequest {
		text = []byte(outward.Redirected(fmt.Sprintf("redirected to %q", outward.CutTo(to, shownBytes)), "baseAddress"))
	}
	resp.Body = io.NopCloser(bytes.NewReader([]byte(outward.Cut(string(text)))))
	return nil
}

// body is the body of an answer. Its Close ends the request.
type body struct {
	io.ReadCloser
	cause func(error) error
	end   func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.cause(err)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
