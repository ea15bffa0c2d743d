package rest

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Target is where a request goes.
type Target struct {
	Scheme string // http or https; empty for http, as in EdgeX 2.3
	Host   string // a name or an address
	Port   int
	Path   string // with a query, if need be; a slash is put in front where it has none
	Method string
}

func (t Target) url() (*url.URL, error) {
	u, err := url.ParseRequestURI("/" + strings.TrimPrefix(t.Path, "/"))
	if err != nil {
		return nil, fmt.Errorf("path: %q is not a path; write it as /notify, with %%20 for a space", t.Path)
	}
	return &url.URL{
		Scheme: cmp.Or(t.Scheme, "http"), Host: net.JoinHostPort(t.Host, strconv.Itoa(t.Port)),
		Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery,
	}, nil
}
