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
	"reflect"
	"slices"
	"strings"

	"ledge/bridge/guard"
	"ledge/bridge/outward"
	"ledge/domain"
)

// answer is what a device service says; status is 0 where it says nothing, and then err says why.
type answer struct {
	status int
	text   string // as much of the body as is shown
	err    error
	method string // of the request
	kind   string // of the entity that it is about, such as device
	entity string // its name
}

func (a answer) String() string {
	if a.err != nil {
		return outward.Cut(a.err.Error()) // the URL in it may be long
	}
	return fmt.Sprintf("status code: %d, err: %s", a.status, a.text)
}

// accepted reports whether the service has it: EdgeX 2.3 takes every status up to 207 for that.
func (a answer) accepted() bool { return a.status > 0 && a.status <= http.StatusMultiStatus }

// absent reports whether the service is not there: it does not answer, or somebody answers in its place. A forbidden address is not
// retried.
func (a answer) absent() bool {
	others := []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests}
	return a.status == 0 && !outward.Permanent(a.err) || slices.Contains(others, a.status)
}

// failed reports whether the service may yet take what it did not take.
func (a answer) failed() bool {
	return a.status >= http.StatusInternalServerError || a.status == http.StatusRequestTimeout
}

// unreachable returns why the service cannot be reached, nil if it answers.
func (a answer) unreachable() error {
	if a.status > 0 && a.absent() {
		return &outward.Error{Err: errors.New(a.String()), Reply: true}
	}
	return a.err
}

// answerBytes is how much of an answer is read.
const answerBytes = 64 << 10

// send makes one request and waits for the whole answer. id is the requestId in the body.
func (c *Callbacks) send(ctx context.Context, base string, q request, id, correlation string) answer {
	var visible outward.Visible
	r, err := newRequest(visible.Watch(ctx, c.Guard.ShowsAnswer), base, q, id)
	if err != nil {
		return answer{err: err}
	}
	correlation, hops := domain.CutHops(correlation)
	outward.Trace(r.Header, correlation, hops, c.Self)
	resp, err := c.client.Do(r)
	if err != nil {
		return answer{err: visible.Error(err)}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerBytes))
	if err != nil {
		return answer{err: fmt.Errorf("read the answer: %w", err)}
	}
	a := answer{status: resp.StatusCode, text: outward.Cut(string(text[:min(len(text), shownBytes)]))}
	to := resp.Header.Get("Location")
	if visible.Hidden() && !outward.IsEdgeX(text) {
		a.text, to = outward.NotShown, outward.NotShown
	}
	if a.status >= 300 && a.status < 400 {
		a.text = outward.Redirected(fmt.Sprintf("redirected to %q", outward.CutTo(to, shownBytes)), "baseAddress")
	}
	return a
}

// shownBytes is how much of an answer a message shows.
const shownBytes = 1 << 10

func newRequest(ctx context.Context, base string, q request, id string) (*http.Request, error) {
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
	r.Header["Idempotency-Key"] = nil // sends nothing; it lets net/http repeat what met a connection that was closed meanwhile
	return r, nil
}

// isSilent reports whether the service took too long, or its host has no address, rather than that nobody listens.
func (a answer) isSilent() bool {
	var timeout net.Error
	_, nameless := errors.AsType[*net.DNSError](a.err)
	return nameless || errors.Is(a.err, context.DeadlineExceeded) || errors.As(a.err, &timeout) && timeout.Timeout()
}

// CheckAddress returns why no service may be called back at a base address, as far as its host and port say so as they are
// written: the message names the host, the setting that forbids it and the cure. A text that is not a URL is not checked. Ledge's own
// address passes here, because that is where device-rest is: a call to it is refused when it is made.
func (c *Callbacks) CheckAddress(base string) error {
	host, port, ok := outward.HostAndPort(base)
	if !ok {
		return nil
	}
	if r, ok := errors.AsType[*guard.Refused](c.Guard.Allowed(host, port)); ok {
		return errors.New(r.Message)
	}
	return nil
}

// The paths below a device service's base address, as EdgeX 2.3 has them.
const (
	devicePath   = "/api/v2/callback/device"
	profilePath  = "/api/v2/callback/profile"
	watcherPath  = "/api/v2/callback/watcher"
	servicePath  = "/api/v2/callback/service"
	validatePath = "/api/v2/validate/device"
)

// request is what a device service is sent. entity, if there is one, is JSON under key beside apiVersion and requestId. What is added, and
// a profile, is sent whole, in the form that it has on the log: what is empty is missing, which EdgeX's SDK reads as empty. Of all else an
// update with every field is sent.
type request struct {
	method, path string
	key          string
	entity       any
}

// requestOf returns the callback for an event; ok is false if the event has none.
func requestOf(e domain.Event) (q request, ok bool) {
	switch e := e.(type) {
	case domain.DeviceAdded:
		q = request{http.MethodPost, devicePath, "device", e.Device}
	case domain.DeviceUpdated:
		q = request{http.MethodPut, devicePath, "device", update(e.Device)}
	case domain.DeviceRemoved:
		q = request{method: http.MethodDelete, path: devicePath + "/name/" + e.Device.Name}
	case domain.WatcherAdded:
		q = request{http.MethodPost, watcherPath, "provisionWatcher", e.Watcher}
	case domain.WatcherUpdated:
		q = request{http.MethodPut, watcherPath, "provisionWatcher", update(e.Watcher)}
	case domain.WatcherRemoved:
		q = request{method: http.MethodDelete, path: watcherPath + "/name/" + e.Watcher.Name}
	case domain.ProfileUpdated:
		q = request{http.MethodPut, profilePath, "profile", e.Profile}
	case domain.ServiceUpdated:
		q = request{http.MethodPut, servicePath, "service", update(e.Service)}
	default:
		return request{}, false
	}
	return q, true
}

// update has each field of an entity but the times of its records. EdgeX's SDK leaves as it is what is missing or null, so an empty list is
// sent as an empty one. A location is any JSON value, and may be null.
func update(entity any) map[string]any {
	fields := map[string]any{}
	for field, v := range reflect.ValueOf(entity).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "created" || name == "modified":
		case v.Kind() == reflect.Slice && v.IsNil() && v.Type() != reflect.TypeFor[json.RawMessage]():
			fields[name] = []string{}
		case v.Kind() == reflect.Map && v.IsNil():
			fields[name] = struct{}{}
		default:
			fields[name] = v.Interface()
		}
	}
	return fields
}
