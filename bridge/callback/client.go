package callback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"ledge/bridge/outward"
)

// answer is what a device service says; status is 0 where it says nothing, and then err says why.
type answer struct {
	status int
	text   string // as much of the body as is shown
	err    error
	method string // of the request
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("status code: %d, err: %s", a.status, a.text)
}

// accepted reports whether the service has it: EdgeX 2.3 takes every status up to 207 for that.
func (a answer) accepted() bool { return a.status > 0 && a.status <= http.StatusMultiStatus }

// absent reports whether the service is not there: it does not answer, or somebody answers in its place. One that may not be
// called is none to wait for.
func (a answer) absent() bool {
	switch a.status {
	case 0:
		return !outward.Permanent(a.err)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return true
	default:
		return false
	}
}

// failed reports whether the service may yet take what it did not take.
func (a answer) failed() bool {
	return a.status >= http.StatusInternalServerError || a.status == http.StatusRequestTimeout
}

// redirects is how many redirects are followed, on one host.
const redirects = 3

func newClient(dial outward.Dial) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial, MaxIdleConns: 256, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
			MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
		},
		// A base address says who is to be told; who answers there does not say who else is.
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Host != via[0].URL.Host || len(via) > redirects {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// send makes one request and waits at most timeout for the whole answer. id is the requestId in the body.
func (c *Callbacks) send(ctx context.Context, timeout time.Duration, base string, q request, id, correlation string) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := newRequest(ctx, base, q, id, correlation)
	if err != nil {
		return answer{err: err}
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, c.AnswerBytes))
	if err != nil {
		return answer{err: fmt.Errorf("read the answer: %w", err)}
	}
	return answer{status: resp.StatusCode, text: string(text[:min(len(text), shownBytes)])}
}

// shownBytes is how much of an answer a message shows.
const shownBytes = 1 << 10

func newRequest(ctx context.Context, base string, q request, id, correlation string) (*http.Request, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	var body []byte
	if q.key != "" {
		if body, err = json.Marshal(map[string]any{"apiVersion": "v2", "requestId": id, q.key: q.entity}); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, q.method, u.JoinPath(q.path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if q.key != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Correlation-ID", correlation)
	r.Header["Idempotency-Key"] = nil // sends nothing; it lets net/http repeat what met a connection that was closed meanwhile
	return r, nil
}

// isTimeout reports whether an answer took too long, rather than that nobody listens.
func (a answer) isTimeout() bool {
	var timeout net.Error
	return a.err != nil && (errors.Is(a.err, context.DeadlineExceeded) || errors.As(a.err, &timeout) && timeout.Timeout())
}
