// Package web stands between the web and a service: [SameOrigin] refuses pages of other origins and foreign host names, and [Proxies]
// finds the client behind a reverse proxy.
package web

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// SameOrigin keeps web pages of other origins away from a service: what they have a browser send is refused, whatever the
// method, before the request is looked at any further. A program sends neither Origin nor Sec-Fetch-Site and notices nothing.
type SameOrigin struct {
	// Hosts are the names by which the service may be addressed, as [CheckHost] takes them, beside IP addresses. A name that
	// is not among them may be that of a foreign page whose owner has it resolve to this machine (DNS rebinding).
	Hosts []string
	// TrustedOrigins are the origins whose pages may use the service as well, as [CheckOrigin] takes them.
	TrustedOrigins []string
	// Links lets a browser open a page of the service from a link on a page of another origin. It sends no SameSite=Strict cookie then.
	Links  bool
	Logger *slog.Logger
}

// CheckHost returns what is wrong with an entry of Hosts: a name, *.name for all names that end so, or * for every name.
func CheckHost(host string) error {
	name := strings.TrimPrefix(host, "*.")
	if host == "*" || name != "" && !strings.ContainsAny(name, "*/:@[]\\ \t") {
		return nil
	}
	return fmt.Errorf("%q is not a host name; write it as edge.example.org, or *.example.org for all names that end so, or * for every name", host)
}

// CheckOrigin returns what is wrong with an entry of TrustedOrigins.
func CheckOrigin(origin string) error {
	if err := new(http.CrossOriginProtection).AddTrustedOrigin(origin); err != nil {
		return fmt.Errorf("%q is not an origin; write it as http://edge.example.org:4000, without a path", origin)
	}
	return nil
}

// Before returns a handler that passes on to next what it does not refuse.
func (o SameOrigin) Before(next http.Handler) http.Handler {
	s := &sameOrigin{next: next, links: o.Links, logger: o.Logger, hosts: map[string]bool{}}
	for _, host := range o.Hosts {
		host = canonicalHost(host)
		if suffix, ok := strings.CutPrefix(host, "*"); ok {
			s.suffixes = append(s.suffixes, suffix)
		} else {
			s.hosts[host] = true
		}
	}
	for _, origin := range o.TrustedOrigins {
		origin = strings.ToLower(origin) // as browsers write it
		s.trusted = append(s.trusted, origin)
		if err := s.protection.AddTrustedOrigin(origin); err != nil {
			panic(err) // see CheckOrigin
		}
	}
	return s
}

type sameOrigin struct {
	next       http.Handler
	links      bool
	logger     *slog.Logger
	hosts      map[string]bool
	suffixes   []string // of names; "" for every name
	trusted    []string
	protection http.CrossOriginProtection
}

// Sandbox is the Content-Security-Policy of answers: what somebody has posted runs nothing in a browser that is sent there.
const Sandbox = "default-src 'none'; sandbox"

// Values of headers, which are only read.
var (
	noSniffing = []string{"nosniff"}
	sandboxed  = []string{Sandbox}
	sameSource = []string{"same-origin"}
)

// ServeHTTP implements http.Handler. Answers carry what keeps a page from loading them as a script or an image, and a browser
// from running anything in them; the few that are pages have another policy.
func (s *sameOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"], h["Cross-Origin-Resource-Policy"], h["Content-Security-Policy"] = noSniffing, sameSource, sandboxed
	if why := s.refusal(r); why != "" {
		s.logger.Debug("request refused", "remote", r.RemoteAddr, "host", r.Host, "origin", r.Header.Get("Origin"), "why", why)
		h.Set("Connection", "close") // net/http would read the body before it goes on
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(s.trusted, origin) && share(h, r, origin) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.next.ServeHTTP(w, r)
}

// refusal returns why a request is refused; "" where it is not.
func (s *sameOrigin) refusal(r *http.Request) string {
	if !s.hasHost(r.Host) {
		return fmt.Sprintf("the host name %.80q is none of this service's; use its IP address or localhost, or add the name to the setting allow-hosts", r.Host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" && (r.Header.Get("Sec-Fetch-Site") == "" || s.links && IsLink(r)) {
		return ""
	}
	change := *r // which CrossOriginProtection looks at whatever the method is
	change.Method = http.MethodPost
	switch {
	case s.protection.Check(&change) == nil:
		return ""
	case origin == "":
		return "a page of another origin may not use this service; enter the address in the browser, or open it from a page of its own"
	case s.links:
		return fmt.Sprintf("a page of the origin %.80q may not use the console; enter the address of the console in the browser", origin)
	default:
		return fmt.Sprintf("a page of the origin %.80q may not use this service; add its origin to the setting trusted-origins", origin)
	}
}

// IsLink reports whether a browser opens a page as its user has clicked on a link or entered an address: the answer is shown to the user and to
// no script.
func IsLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// hasHost reports whether a Host header names this service. An empty one is not a browser's.
func (s *sameOrigin) hasHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = canonicalHost(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if host == "" || s.hosts[host] {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(s.suffixes, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// canonicalHost is a name as it is compared.
func canonicalHost(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// share lets the page of a trusted origin read the answer (CORS). It reports whether the request is a preflight, which has
// its whole answer by that.
func share(h http.Header, r *http.Request, origin string) (preflight bool) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "*")
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || method == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", method)
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Max-Age", "600")
	return true
}
