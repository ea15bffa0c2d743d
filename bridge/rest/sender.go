package rest

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ledge/bridge/outward"
)

// Options configure a [Sender]. Zero values take the documented defaults.
type Options struct {
	// Dial connects, within a time of its own; it is required.
	Dial outward.Dial
	// Timeout is how long a request may take from its first connection to the end of its answer: 10 s.
	Timeout time.Duration
	// Roots are the authorities to trust; nil for the system's.
	Roots *x509.CertPool
	// Shows says of a connection whether what is answered on it may be put on record; nil: all may. What may not is left out, but for the
	// status.
	Shows outward.Shows
	// Self is this instance's id, for the header that ends loops; empty for none.
	Self string
}

const (
	// idleConnections are kept for the next request.
	idleConnections = 64
	// mostDrained is how much of an answer is read beyond what is put on record, so that its connection can be used again.
	mostDrained = 64 << 10
	// mostAfter bounds what a Retry-After can ask for.
	mostAfter = 24 * time.Hour
)

// Sender sends requests. Send may be called from several goroutines.
type Sender struct {
	o      Options
	client *http.Client
}

// New returns a Sender.
func New(o Options) *Sender {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	return &Sender{o: o, client: outward.Client(o.Dial, o.Roots, idleConnections)}
}

// Close closes the connections that are kept.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Send sends m and returns the status and the beginning of the body that were answered, where anything was; the error
// is nil for a status of 2xx.
func (s *Sender) Send(ctx context.Context, t Target, m outward.Message) (response string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	var visible outward.Visible
	req, err := newRequest(visible.Watch(ctx, s.o.Shows), t, m)
	if err != nil {
		return "", &outward.Error{Err: err, Final: true}
	}
	outward.Mark(req.Header, m)
	outward.Trace(req.Header, m.CorrelationID, m.Hops, s.o.Self)
	resp, err := s.client.Do(req)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err // the rest is the URL, whose query may have a token
		}
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			err = op.Err // the rest is the address again
		}
		err = visible.Error(err)
		return "", &outward.Error{Err: fmt.Errorf("no answer from %s: %w", req.URL.Host, err), Final: outward.Permanent(err)}
	}
	defer resp.Body.Close()
	response = record(resp, visible.Hidden())
	return response, s.judge(resp, response, visible.Hidden())
}

// newRequest makes the request, with the content type that EdgeX gives to what has none.
func newRequest(ctx context.Context, t Target, m outward.Message) (*http.Request, error) {
	u, err := t.url()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, t.Method, u.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	contentType := m.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	if strings.ContainsFunc(contentType, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, fmt.Errorf("contentType: %q is not a media type", m.ContentType)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "ledge")
	return req, nil
}

// status is the status with its usual text: what the other side calls it has no bound.
func status(resp *http.Response) string {
	return strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", http.StatusText(resp.StatusCode)))
}

// record returns the status and the body, cut, and reads on to the end of the body, within bounds. If the answer is hidden, it returns the
// status alone.
func record(resp *http.Response, hidden bool) string {
	body, err := io.ReadAll(io.LimitReader(resp.Body, outward.ResponseBytes+1))
	if err == nil {
		_, err = io.CopyN(io.Discard, resp.Body, mostDrained)
	}
	text := status(resp)
	if len(body) > 0 && !hidden {
		text += ": " + string(body)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		text += " (the answer broke off)"
	}
	return outward.Cut(text)
}

// notShown ends the error of an answer of which only the status is shown.
const notShown = " (answers of this machine are not shown)"

// judge returns nil for what is delivered; its error has the answer in it, with what was answered beside the status at the
// end.
func (s *Sender) judge(resp *http.Response, response string, hidden bool) error {
	code := resp.StatusCode
	if hidden {
		response += notShown
	}
	body := strings.TrimPrefix(response, status(resp))
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		to := fmt.Sprintf(", to %q", outward.Cut(resp.Header.Get("Location")))
		if hidden {
			to = ""
		}
		err := fmt.Errorf("answered %s%s", outward.Redirected(status(resp)+to, "the channel"), body)
		return &outward.Error{Final: true, Reply: true, Err: err}
	}
	final := code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooEarly && code != http.StatusTooManyRequests
	return &outward.Error{Err: errors.New("answered " + response), Final: final, Reply: true, After: retryAfter(resp.Header)}
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3). The date is by the clock of the receiver, whose time is in the same answer.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, mostAfter)
	}
	at, err := http.ParseTime(text)
	now, unknown := http.ParseTime(h.Get("Date"))
	if err != nil || unknown != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), mostAfter)
}
