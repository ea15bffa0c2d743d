package handlers_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/command"
	"ledge/handlers/data"
	"ledge/handlers/devicerest"
	"ledge/handlers/handlerstest"
	"ledge/handlers/metadata"
	"ledge/handlers/notifications"
	"ledge/handlers/web"
)

// roleAccess knows tokens that are the names of roles; posters may post to cam-*.
type roleAccess struct{}

func (roleAccess) Bearer(_ context.Context, token, _ string) (domain.Identity, error) {
	if token == "busy" {
		return domain.Identity{}, domain.Errorf(domain.TooMany, "too many tries; wait")
	}
	if !slices.Contains(domain.Roles(), domain.Role(token)) {
		return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the token is not valid")
	}
	id := domain.Identity{Actor: "jwt:" + token, Role: domain.Role(token)}
	if token == "poster" {
		id.Devices = []string{"cam-*"}
	}
	return id, nil
}

func (roleAccess) Certificate(*x509.Certificate) (domain.Identity, error) {
	return domain.Identity{Actor: "cert:c", Role: domain.Viewer}, nil
}

func (roleAccess) Password(context.Context, string, string, string) (domain.Identity, error) {
	return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the name or the password is wrong")
}

func (roleAccess) Login(_ context.Context, name, password, _ string) (string, time.Time, error) {
	switch {
	case name == "busy":
		return "", time.Time{}, domain.Errorf(domain.TooMany, "too many tries; wait")
	case name == "broken":
		return "", time.Time{}, errors.New("boom")
	case password != "right":
		return "", time.Time{}, domain.Errorf(domain.Unauthenticated, "the name or the password is wrong")
	}
	return "admin", time.UnixMilli(1795246925123), nil
}

// allServices are all services, with the names of their parameters' values.
func allServices(change func(*handlers.Options)) map[string]*handlers.Service {
	options := func(name string) handlers.Options {
		o := handlerstest.Options(name)
		change(&o)
		return o
	}
	log := handlerstest.NewLog()
	identities := handlerstest.Identities{Log: log}
	ledger := metadata.Ledger{Past: log.Past(), Events: log.Events(), Tree: handlerstest.Transparency{Log: log}, Replays: handlerstest.NewReplays(log)}
	return map[string]*handlers.Service{
		"core-metadata":         metadata.New(options("core-metadata"), log.View, log, identities, ledger).(*handlers.Service),
		"core-data":             data.New(options("core-data"), log.View, log, nil, nil).(*handlers.Service),
		"core-command":          command.New(options("core-command"), log.View, log, nil).(*handlers.Service),
		"device-rest":           devicerest.New(options("device-rest"), log.View, log, log, nil).(*handlers.Service),
		"support-notifications": notifications.New(options("support-notifications"), log.View, log, log.Past(), log.View, log, nil, nil, nil).(*handlers.Service),
	}
}

func secure(o *handlers.Options) { o.Access = &access.Access{Authenticator: roleAccess{}} }

// TestRouteWithoutRight holds that a route is not served if it is not certain who may ask for it.
func TestRouteWithoutRight(t *testing.T) {
	const get, post = "route GET /api/v2/x: ", "route POST /api/v2/x/:device: "
	for want, route := range map[string]handlers.Route{
		get + `no role has its right ""; give it a right`:               {Method: "GET", Path: "/x"},
		get + `no role has its right "raed"; give it a right`:           {Method: "GET", Path: "/x", Right: "raed"},
		post + `its right is "post" and its field Device is ""`:         {Method: "POST", Path: "/x/:device", Right: "post"},
		post + `its right is "post" and its field Device is "dev"`:      {Method: "POST", Path: "/x/:device", Right: "post", Device: "dev"},
		post + `its right is "change" and its field Device is "device"`: {Method: "POST", Path: "/x/:device", Right: "change", Device: "device"},
	} {
		s := handlers.NewService(handlerstest.Options("core-metadata"))
		a, before := s.API(handlers.V2), len(s.Routes())
		if got := panicOf(func() { a.Serve([]handlers.Route{route}) }); !strings.HasPrefix(got, want) || len(s.Routes()) != before {
			t.Errorf("got %q, want %s; %d more routes", got, want, len(s.Routes())-before)
		}
		route.Path = "/api/v2" + route.Path
		if got := panicOf(func() { handlers.Protect(handlers.Options{}, route, nil) }); !strings.HasPrefix(got, want) {
			t.Errorf("Protect: got %q, want %s", got, want)
		}
	}
}

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// fill gives the parameters of a path values.
func fill(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, ":") {
			segments[i] = "cam-1"
		}
	}
	return strings.Join(segments, "/")
}

func call(t *testing.T, method, url, token string) (status int, header http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// may is what the specification says of a role and a kind of route, written apart from the table of roles.
func may(role domain.Role, right domain.Right) bool {
	switch right {
	case "public":
		return true
	case "login":
		return role != ""
	case domain.MayRead:
		return role == domain.Viewer || role == domain.Service || role == domain.Operator || role == domain.Auditor || role == domain.Admin
	case domain.MayPost:
		return role == domain.Poster || role == domain.Service || role == domain.Operator || role == domain.Admin
	case domain.MayServe:
		return role == domain.Service || role == domain.Operator || role == domain.Admin
	case domain.MayChange:
		return role == domain.Operator || role == domain.Admin
	case domain.MayAudit:
		return role == domain.Auditor || role == domain.Admin
	case domain.MayAdminister:
		return role == domain.Admin
	}
	return false
}

func TestEveryRouteAndRole(t *testing.T) {
	open := func(o *handlers.Options) { o.Access = nil }
	withLogin := func(o *handlers.Options) { secure(o); o.Access.Open = true }
	for mode, change := range map[string]func(*handlers.Options){"secure": secure, "open": open, "open with a login": withLogin} {
		for name, s := range allServices(change) {
			server := mustListen(t, s)
			for _, route := range s.Routes() {
				right, method, path := route.Right, route.Method, fill(route.Path)
				for _, role := range append([]domain.Role{"", "nobody"}, domain.Roles()...) {
					got, header := call(t, method, server.URL+path, string(role))
					known := slices.Contains(domain.Roles(), role)
					want := http.StatusForbidden
					self := strings.HasPrefix(path, "/api/v2/user/me") // which no JWT is
					users := self || right == domain.MayAdminister
					switch {
					case self && (known || mode == "open"):
					case mode == "open" || mode != "secure" && !users || may(role, right) && (known || right == "public"):
						want = 0
					case !known:
						want = http.StatusUnauthorized
					}
					if refused := got == http.StatusUnauthorized || got == http.StatusForbidden; refused != (want != 0) || refused && got != want {
						t.Errorf("%s, %s: %s as %q: got %d, want %d", mode, name, route, role, got, want)
					}
					if (got == http.StatusUnauthorized) != strings.HasPrefix(header.Get("WWW-Authenticate"), `Bearer realm="ledge"`) {
						t.Errorf("%s: %s as %q: %d with WWW-Authenticate %q", mode, route, role, got, header.Get("WWW-Authenticate"))
					}
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	s := allServices(secure)
	for _, x := range []struct {
		service, method, path, header string
		status                        int
		message                       string
	}{
		{"core-metadata", "PATCH", "/api/v2/device", "Authorization: Bearer viewer", 403, "jwt:viewer is a viewer; PATCH /api/v2/device needs the role service or operator or admin"},
		{"core-metadata", "PATCH", "/api/v2/device", "Authorization: Bearer auditor", 403, "jwt:auditor is an auditor; "},
		{"device-rest", "POST", "/api/v2/resource/door-1/jpeg", "Authorization: Bearer poster", 403, `jwt:poster may not post to the device \"door-1\", only to devices that match cam-*`},
		{"core-data", "POST", "/api/v2/event/p/door-1/s", "Authorization: Bearer poster", 403, "door-1"},
		{"core-data", "GET", "/api/v2/event/all", "Authorization: Bearer poster", 403, "needs the role viewer or service or operator or auditor or admin"},
		{"core-data", "GET", "/nosuch", "X: y", 401, "a login is needed"},
		{"core-data", "GET", "/api/v2//event/all", "X: y", 401, "a login is needed"},
		{"core-data", "GET", "/nosuch", "Authorization: Bearer viewer", 404, "404 page not found"},
		{"core-data", "GET", "/api/v2/event/all", "Authorization: Basic dTpw", 401, "another scheme than Bearer"},
		{"core-data", "GET", "/api/v2/event/all", "Authorization: Bearer wrong", 401, "the token is not valid"},
		{"core-data", "GET", "/api/v2/event/all", "Authorization: Bearer busy", 429, "too many tries"},
	} {
		w := handlerstest.Serve(s[x.service], x.method, x.path, "", x.header)
		if w.Code != x.status || !strings.Contains(w.Body.String(), x.message) {
			t.Errorf("%s %s, %s: got %d %s, want %d %s", x.method, x.path, x.header, w.Code, w.Body, x.status, x.message)
		}
		if given := strings.Contains(x.header, "Bearer "); w.Code == 401 && strings.Contains(w.Header().Get("WWW-Authenticate"), `error="invalid_token"`) != given {
			t.Errorf("%s: got %q", x.header, w.Header().Get("WWW-Authenticate"))
		}
		if (w.Code == 429) != (w.Header().Get("Retry-After") != "") {
			t.Errorf("%d with Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
	}
}

// A token is looked at before a certificate, and the identity of the listener is the last and not for what a proxy passes on.
func TestIdentitySources(t *testing.T) {
	s := allServices(secure)["core-metadata"]
	for _, x := range []struct {
		what   string
		change func(*http.Request) *http.Request
		status int
	}{
		{"certificate", func(r *http.Request) *http.Request {
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{NotAfter: time.Now().Add(time.Hour)}}}}
			return r
		}, 200},
		{"certificate that expired while the connection was open", func(r *http.Request) *http.Request {
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{NotAfter: time.Now().Add(-time.Second)}}}}
			return r
		}, 401},
		{"certificate that is not verified", func(r *http.Request) *http.Request {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
			return r
		}, 401},
		{"certificate and a bad token", func(r *http.Request) *http.Request {
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{NotAfter: time.Now().Add(time.Hour)}}}}
			r.Header.Set("Authorization", "Bearer wrong")
			return r
		}, 401},
		{"listener", local, 200},
		{"listener and a bad token", func(r *http.Request) *http.Request {
			r.Header.Set("Authorization", "Bearer wrong")
			return local(r)
		}, 401},
		{"listener, passed on", func(r *http.Request) *http.Request {
			r.Header.Set("X-Forwarded-For", "1.2.3.4")
			return local(r)
		}, 401},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, x.change(httptest.NewRequest("GET", "/api/v2/device/all", nil)))
		if w.Code != x.status {
			t.Errorf("%s: got %d %s, want %d", x.what, w.Code, w.Body, x.status)
		}
	}
}

func local(r *http.Request) *http.Request {
	return r.WithContext(access.WithIdentity(r.Context(), domain.Identity{Actor: "local", Role: domain.Operator}))
}

func TestLogin(t *testing.T) {
	s := allServices(secure)["core-metadata"]
	for body, want := range map[string]string{
		`{"username":"anna","password":"right"}`:                               `200 {"apiVersion":"v2","statusCode":200,"token":"admin","expires":1795246925123}`,
		`{"username":"anna","password":"s3cret"}`:                              `401 `,
		`{"username":"busy","password":"s3cret"}`:                              `429 `,
		`{"username":"broken","password":"s3cret"}`:                            `500 `,
		`{"username":"anna"}`:                                                  `400 `,
		`s3cret`:                                                               `400 `,
		`{"username":"` + strings.Repeat("a", 5000) + `","password":"s3cret"}`: `413 `,
	} {
		w := handlerstest.Serve(s, "POST", "/api/v2/login", body, "Authorization: Bearer expired")
		if got := w.Result().Status[:3] + " " + w.Body.String(); !strings.HasPrefix(got, want) || strings.Contains(got, "s3cret") {
			t.Errorf("%.80s: got %s, want %s", body, got, want)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%.80s: Cache-Control %q", body, w.Header().Get("Cache-Control"))
		}
	}
	none := allServices(func(o *handlers.Options) { o.Access = nil })["core-metadata"]
	if w := handlerstest.Serve(none, "POST", "/api/v2/login", "{}"); w.Code != 404 {
		t.Errorf("without Access: got %d", w.Code)
	}
}

// The detail of health is for those who may read.
func TestHealthHasNoDetailsWithoutLogin(t *testing.T) {
	s := allServices(func(o *handlers.Options) {
		secure(o)
		o.Warnings = func() []string { return []string{"the disk"} }
	})["core-metadata"]
	for token, want := range map[string]bool{"": false, "poster": false, "wrong": false, "viewer": true} {
		w := handlerstest.Serve(s, "GET", "/api/v2/health", "", "Authorization: Bearer "+token)
		if w.Code != 200 || strings.Contains(w.Body.String(), "the disk") != want {
			t.Errorf("%q: got %d %s", token, w.Code, w.Body)
		}
	}
}

func TestActorIsOnTheLog(t *testing.T) {
	for token, want := range map[string]string{"operator": "jwt:operator", "admin": "jwt:admin"} {
		h, log := mustService(t, func(o *handlers.Options) { secure(o); o.Access.Open = true })
		w := handlerstest.Serve(h, "POST", "/api/v2/service", service("a"), "Authorization: Bearer "+token)
		if recorded := log.Recorded(); w.Code != 207 || len(recorded) != 1 || recorded[0].Actor != want {
			t.Errorf("got %d %s, %+v", w.Code, w.Body, recorded)
		}
	}
}

func TestRefusalsAreCounted(t *testing.T) {
	now := handlerstest.Now
	counted := &access.Refusals{Now: func() time.Time { return now }}
	s := allServices(func(o *handlers.Options) { secure(o); o.Access.Refusals = counted })["core-data"]
	for _, header := range []string{"X: y", "Authorization: Bearer wrong", "Authorization: Bearer busy", "Authorization: Bearer poster"} {
		handlerstest.Serve(s, "GET", "/api/v2/event/all", "", header)
	}
	handlerstest.Serve(s, "POST", "/api/v2/event/p/door-1/s", "", "Authorization: Bearer poster")
	for _, reason := range access.Reasons {
		if got := counted.Count("core-data", reason); got != 1 {
			t.Errorf("%s: got %d, want 1", reason, got)
		}
	}
}

// A reading can name another device than the event and the path.
func TestPosterNamesAnotherDeviceInReading(t *testing.T) {
	body := func(device string) string {
		return `{"apiVersion":"v2","event":{"apiVersion":"v2","id":"` + handlerstest.ID(77) + `","deviceName":"cam-1","profileName":"p","sourceName":"s","origin":1,"readings":[
			{"id":"` + handlerstest.ID(78) + `","origin":1,"deviceName":"` + device + `","resourceName":"s","profileName":"p","valueType":"Int8","value":"1"}]}}`
	}
	for device, want := range map[string]int{"cam-1": 201, "door-1": 403} {
		w := handlerstest.Serve(allServices(secure)["core-data"], "POST", "/api/v2/event/p/cam-1/s", body(device), "Authorization: Bearer poster")
		if w.Code != want {
			t.Errorf("%s: got %d %s, want %d", device, w.Code, w.Body, want)
		}
	}
}

func TestProxies(t *testing.T) {
	var proxies web.Proxies
	for _, text := range []string{"10.0.0.0/8", "fd00::1"} {
		network, err := web.ParseProxy(text)
		if err != nil {
			t.Fatal(err)
		}
		proxies = append(proxies, network)
	}
	for _, x := range []struct {
		peer, header, want string
	}{
		{"10.0.0.2:99", "203.0.113.7", "203.0.113.7:0"},
		{"10.0.0.2:99", "1.1.1.1, 203.0.113.7, 10.9.9.9", "203.0.113.7:0"},
		{"10.0.0.2:99", "203.0.113.7:4711", "203.0.113.7:0"},
		{"10.0.0.2:99", "2001:db8::7", "[2001:db8::7]:0"},
		{"10.0.0.2:99", "[2001:db8::7]:80", "[2001:db8::7]:0"},
		{"[fd00::1]:99", "::ffff:203.0.113.7", "203.0.113.7:0"},
		{"10.0.0.2:99", "203.0.113.7, garbage", "10.0.0.2:99"},
		{"10.0.0.2:99", "203.0.113.7, garbage, 10.1.1.1", "10.1.1.1:0"},
		{"10.0.0.2:99", "", "10.0.0.2:99"},
		{"10.0.0.2:99", ",,,", "10.0.0.2:99"},
		{"192.0.2.1:99", "203.0.113.7", "192.0.2.1:99"},
		{"[fd00::2]:99", "203.0.113.7", "[fd00::2]:99"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = x.peer
		if x.header != "" {
			r.Header.Set("X-Forwarded-For", x.header)
		}
		var got string
		proxies.Before(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
		if got != x.want {
			t.Errorf("from %s, %q: got %s, want %s", x.peer, x.header, got, x.want)
		}
	}
	for _, bad := range []string{"", "x", "10.0.0.0/33", "0.0.0.0/0", "::/0"} {
		if _, err := web.ParseProxy(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A page of a trusted origin may ask whether it may send a token, without one.
func TestPreflightNeedsNoLogin(t *testing.T) {
	h := web.SameOrigin{Hosts: []string{"example.com"}, TrustedOrigins: []string{"http://edge.example.org"}, Logger: slog.New(slog.DiscardHandler)}.Before(allServices(secure)["core-metadata"])
	w := handlerstest.Serve(h, "OPTIONS", "/api/v2/device/all", "", "Origin: http://edge.example.org", "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: authorization")
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	if w = handlerstest.Serve(h, "GET", "/api/v2/device/all", "", "Origin: http://edge.example.org"); w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("without a token: got %d %v", w.Code, w.Header())
	}
	if w = handlerstest.Serve(h, "GET", "/api/v2/device/all", "", "Origin: http://other.example.org", "Authorization: Bearer viewer"); w.Code != 403 {
		t.Errorf("another origin: got %d", w.Code)
	}
}

// One refusal of each address a minute is in the log, without what the client sent as its secret; the table of addresses is bounded.
func TestRefusalsAreLogged(t *testing.T) {
	var log bytes.Buffer
	now := handlerstest.Now
	refusals := &access.Refusals{Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }}
	s := allServices(func(o *handlers.Options) { secure(o); o.Access.Refusals = refusals })["core-data"]
	send := func(address string) {
		r := httptest.NewRequest("GET", "/api/v2/event/all", nil)
		r.RemoteAddr = address
		r.Header.Set("Authorization", "Bearer s3cret")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := func(what string, n int) {
		t.Helper()
		if got := strings.Count(log.String(), "request refused"); got != n || strings.Contains(log.String(), "s3cret") {
			t.Errorf("%s: got %d lines, want %d: %.300s", what, got, n, log.String())
		}
	}
	send("192.0.2.1:1")
	send("192.0.2.1:2")
	want("one address twice", 1)
	now = now.Add(time.Minute)
	send("192.0.2.1:3")
	want("a minute later", 2)
	for i := range 2000 {
		send(fmt.Sprintf("10.0.%d.%d:1", i/250, i%250))
	}
	want("many addresses", 1+1024)
	now = now.Add(time.Minute)
	send("192.0.2.9:1")
	want("a minute later, another one", 2+1024)
	if got := refusals.Count("core-data", access.BadLogin); got != 2004 {
		t.Errorf("counted %d, want 2004", got)
	}
}

// docs/reference/rights.md has the table of rights as it is in the program. To write it anew, copy what the test prints.
func TestRolesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/rights.md")
	if err != nil {
		t.Fatal(err)
	}
	head := handlers.Metrics
	head.Method = "HEAD"
	rights, of := map[string]domain.Right{}, map[string][]string{}
	services := []string{"core-metadata", "core-data", "core-command", "device-rest", "support-notifications"}
	all := allServices(secure)
	for _, service := range services {
		for _, route := range append(all[service].Routes(), handlers.Metrics, head) {
			if right, ok := rights[route.String()]; ok && right != route.Right {
				t.Errorf("%s needs the right %s of %s, and %s elsewhere", route, route.Right, service, right)
			}
			rights[route.String()], of[route.String()] = route.Right, append(of[route.String()], service)
		}
	}
	var want strings.Builder
	for _, service := range append([]string{"all"}, services...) {
		for _, route := range slices.Sorted(maps.Keys(rights)) {
			if shared := len(of[route]) > 1; shared != (service == "all") || !shared && !slices.Contains(of[route], service) {
				continue
			}
			var roles []string
			for _, role := range handlers.RolesFor(rights[route]) {
				roles = append(roles, string(role))
			}
			may := cmp.Or(strings.Join(roles, ", "), "no login needed")
			if may == "viewer, service, operator, auditor, admin" {
				may = "all but poster"
			}
			short := strings.Replace(route, " /api/v2/", " …/", 1)
			fmt.Fprintf(&want, "| %s | `%s` | %s |\n", service, short, may)
		}
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/reference/rights.md lacks:\n%s", want.String())
	}
}
