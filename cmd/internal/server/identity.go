package server

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"ledge/bridge/guard"
	"ledge/cmd/internal/config"
	"ledge/handlers/identity"
)

// newAuthenticator returns what proves identities. The caller starts its Run.
func newAuthenticator(c *config.Config, directory identity.Directory, credentials identity.Credentials, loginKey []byte, g *guard.Guard, used func(token string, at time.Time), logger *slog.Logger) *identity.Authenticator {
	o := identity.Options{Directory: directory, Credentials: credentials, LoginKey: loginKey, Used: used, Logger: logger}
	if c.JWTIssuer != "" {
		o.JWT = &identity.JWT{Issuer: c.JWTIssuer, Audience: c.JWTAudience, RoleClaim: c.JWTRoleClaim, Client: keysClient(g)}
	}
	return identity.New(o)
}

// keysClient fetches the keys of the issuer of JWTs: through the guard.
func keysClient(g *guard.Guard) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: g.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
