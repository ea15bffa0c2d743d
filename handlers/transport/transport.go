// Package transport lets a client choose, by the first byte that it sends, between TLS and plain HTTP on one port.
//
// Plain HTTP is served only on connections whose both ends are loopback addresses, and only if [Options.Local] is set. All
// other plain requests get 400 and a sentence that says to use https.
//
// The first byte and the handshake are read where net/http reads the first request. So the time limit is that of the
// request's header (http.Server.ReadHeaderTimeout), and a client that sends nothing holds up no other client.
package transport

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"

	"ledge/domain"
	"ledge/handlers/access"
	"ledge/handlers/web"
)

// Options say what a port takes.
type Options struct {
	TLS *tls.Config
	// Local is the identity of plain HTTP requests on loopback connections; nil refuses them.
	Local    *domain.Identity
	Failures *Failures // counts failed handshakes; it may be nil
	Logger   *slog.Logger
}

// Wrap returns a connection on which the first Read finds out what the client speaks.
func (o Options) Wrap(c net.Conn) net.Conn {
	return &conn{Conn: c, config: o.TLS, failures: o.Failures, logger: o.Logger}
}

type connKey struct{}

// ConnContext is for http.Server.ConnContext. [Options.Handler] needs it.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// The answers to plain HTTP.
const (
	needsTLS   = "this port takes only TLS; use https:// instead of http://"
	needsProxy = "plain HTTP on a loopback address is for programs of this machine, and a proxy has passed on this request; let the proxy use https:// too"
)

// Handler sets the field TLS of requests over TLS, gives plain requests of this machine their identity, and refuses all other
// plain requests.
func (o Options) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connKey{}).(*conn)
		if c == nil {
			refuse(w, needsTLS)
			return
		}
		if state := c.tlsState(); state != nil {
			r.TLS = state
			next.ServeHTTP(w, r)
			return
		}
		switch {
		case o.Local == nil || !c.isLocal():
			refuse(w, needsTLS)
		case web.IsForwarded(r):
			refuse(w, needsProxy)
		default:
			next.ServeHTTP(w, r.WithContext(access.WithIdentity(r.Context(), *o.Local)))
		}
	})
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Connection", "close") // net/http would read the body before it goes on
	http.Error(w, why, http.StatusBadRequest)
}
