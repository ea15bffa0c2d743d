package outward

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HopHeader names the instances of Ledge that a request has passed.
const HopHeader = "Ledge-Hop"

// Trace sets the headers that tell where a request comes from: its correlation id, and the hops with self behind them.
func Trace(h http.Header, correlation string, hops []string, self string) {
	if correlation != "" {
		h.Set("X-Correlation-ID", correlation)
	}
	if self != "" {
		h.Set(HopHeader, strings.Join(append(slices.Clone(hops), self), ","))
	}
}

// Mark sets the headers that tell which notification a request is, in the names of CloudEvents.
func Mark(h http.Header, m Message) {
	if m.NotificationID != "" {
		h.Set("ce-id", m.NotificationID)
		h.Set("ce-time", m.At.UTC().Format(TimeFormat))
	}
	if m.Sequence > 0 {
		h.Set("ce-sequence", strconv.FormatUint(m.Sequence, 10))
	}
}

// TimeFormat is RFC 3339 with milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// Shows reports whether clients may see what was answered on a connection; that of a guard.Guard is one.
type Shows func(net.Conn) bool

// Visible is whether what is answered to one request may be shown. It is what the last of its connections allows.
type Visible struct{ hidden bool }

// Watch returns a context for the request.
func (v *Visible) Watch(ctx context.Context, shows Shows) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		v.hidden = shows != nil && !shows(i.Conn)
	}})
}

// Hidden reports whether only the status may be shown.
func (v *Visible) Hidden() bool { return v.hidden }

// errNoHTTP stands for errors of net/http that quote what was answered.
var errNoHTTP = errors.New("the answer is not HTTP, and answers of this machine are not shown")

// Error returns err, or an error that quotes nothing of the answer.
func (v *Visible) Error(err error) error {
	if !v.hidden || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || Permanent(err) {
		return err
	}
	cause := err
	if whole, ok := errors.AsType[*url.Error](err); ok { // it is a net.Error whatever its cause
		cause = whole.Err
	}
	if _, ok := errors.AsType[net.Error](cause); ok { // timeouts and broken connections, of a context too
		return err
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	return errNoHTTP
}

// NotShown stands for an answer of this machine that clients may not see. They may see an answer of EdgeX's: it says why a device is
// refused.
const NotShown = "(answers of this machine are not shown)"

// IsEdgeX reports whether an answer is an error as EdgeX's services answer it, and nothing else.
func IsEdgeX(text []byte) bool {
	var e struct {
		APIVersion, RequestID, Message string
		StatusCode                     int
		Errors                         []struct{ Path, Value, Cure string } // of Ledge
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(&e) == nil && e.APIVersion != "" && e.Message != "" && !d.More()
}

const (
	// Redirects is how many redirects a [Client] follows.
	Redirects = 3
	// IdlePerHost is how many connections to one host and port a [Client] keeps for the next request.
	IdlePerHost = 16
	// idleTime is how long an idle connection is kept, and maxHeader bounds the header of an answer, in bytes.
	idleTime  = 90 * time.Second
	maxHeader = 64 << 10
)

// Client returns a client that keeps so many idle connections. It follows a redirect that changes nothing but the path. With another
// method, as 301 to 303 would have it, the message would be lost and called delivered. Who answers at an address does not say who else is
// told.
func Client(dial Dial, roots *x509.CertPool, idle int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			MaxIdleConns: idle, MaxIdleConnsPerHost: IdlePerHost, IdleConnTimeout: idleTime,
			MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			first := via[0]
			same := next.Method == first.Method && next.ContentLength == first.ContentLength && origin(next.URL) == origin(first.URL)
			if len(via) > Redirects || !same {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// Redirected says that a redirect to an address was not followed, and names the field to correct.
func Redirected(to, field string) string {
	const rule = "%s; redirects are followed to the same scheme, host and port and with the same method only, %d times: correct %s"
	return fmt.Sprintf(rule, to, Redirects, field)
}

// HostAndPort returns the host and the port of a URL, which may be that of its scheme; false if it has none.
func HostAndPort(text string) (host string, port int, ok bool) {
	u, err := url.Parse(text)
	if err != nil {
		return "", 0, false
	}
	digits := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	port, err = strconv.Atoi(digits)
	return u.Hostname(), port, err == nil && u.Host != ""
}

// origin is the scheme, host and port of a URL.
func origin(u *url.URL) string {
	host, port, _ := HostAndPort(u.String())
	return fmt.Sprint(u.Scheme, "://", strings.ToLower(host), " ", port)
}
