package rest

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Methods are those that a Target may have.
var Methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// Target is where a request goes.
type Target struct {
	Scheme string // http or https; empty for http, as in EdgeX 2.3
	Host   string // a name or an address
	Port   int
	Path   string // with a query, if need be; a slash is put in front where it has none
	Method string // one of Methods, in whatever case
}

// url checks a target, whose fields its errors name as the JSON of a channel does.
func (t Target) url() (*url.URL, error) {
	scheme := strings.ToLower(t.Scheme)
	if scheme == "" {
		scheme = "http"
	}
	if scheme != "http" && scheme != "https" {
		return nil, fmt.Errorf("scheme: %q is unknown; use http or https", t.Scheme)
	}
	host := strings.TrimSuffix(strings.TrimPrefix(t.Host, "["), "]")
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`/\?#@[]`, r) }) {
		return nil, fmt.Errorf("host: %q is no host; give a name or an address", t.Host)
	}
	if t.Port < 1 || t.Port > 65535 {
		return nil, fmt.Errorf("port: %d is no TCP port; use 1 to 65535", t.Port)
	}
	if !slices.Contains(Methods, t.method()) {
		return nil, fmt.Errorf("httpMethod: %q is unknown; use one of %s", t.Method, strings.Join(Methods, ", "))
	}
	u, err := url.ParseRequestURI("/" + strings.TrimPrefix(t.Path, "/"))
	if err != nil {
		return nil, fmt.Errorf("path: %q is no path; escape what is no URL", t.Path)
	}
	return &url.URL{
		Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(t.Port)),
		Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery,
	}, nil
}

func (t Target) method() string { return strings.ToUpper(t.Method) }
