package main

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"time"

	"ledge/bridge/guard"
	"ledge/handlers/identity"
)

// checkJWT checks the settings of the issuer of JWTs.
func (c *Config) checkJWT(bad func(name string, value any, cure string)) {
	if c.JWTIssuer == "" {
		if c.JWTJWKS != "" {
			bad("jwt-jwks", c.JWTJWKS, "set jwt-issuer too, to what the JWTs have in their claim iss")
		}
		if c.JWTAudience != "" {
			bad("jwt-audience", c.JWTAudience, "set jwt-issuer too, to what the JWTs have in their claim iss")
		}
	} else if c.JWTAudience == "" {
		bad("jwt-audience", `""`, "give the audience that the JWTs have in their claim aud: without one, a JWT for any other service would do")
	}
	if err := identity.CheckURL(c.JWTIssuer); err != nil && c.JWTIssuer != "" && c.JWTJWKS == "" {
		bad("jwt-issuer", c.JWTIssuer, err.Error())
	}
	if err := identity.CheckURL(c.JWTJWKS); err != nil && identity.IsURL(c.JWTJWKS) {
		bad("jwt-jwks", c.JWTJWKS, err.Error())
	}
	if c.JWTRoleClaim == "" {
		bad("jwt-role-claim", `""`, "name the claim with the role, such as role")
	}
}

// newAuthenticator returns what proves identities. The caller starts its Run.
func newAuthenticator(c *Config, directory identity.Directory, credentials identity.Credentials, loginKey []byte, g *guard.Guard, roots *x509.CertPool, used func(token string, at time.Time), logger *slog.Logger) *identity.Authenticator {
	o := identity.Options{Directory: directory, Credentials: credentials, LoginKey: loginKey, Used: used, Logger: logger}
	if c.JWTIssuer != "" {
		o.JWT = &identity.JWT{Issuer: c.JWTIssuer, JWKS: c.JWTJWKS, Audience: c.JWTAudience, RoleClaim: c.JWTRoleClaim, Client: keysClient(g, roots)}
	}
	return identity.New(o)
}

// keysClient fetches the keys of the issuer of JWTs: through the guard, and trusting outgoing-ca.
func keysClient(g *guard.Guard, roots *x509.CertPool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: g.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
