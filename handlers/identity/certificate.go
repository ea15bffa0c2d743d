package identity

import (
	"crypto/x509"

	"ledge/domain"
)

// Certificate returns the identity of a client certificate that TLS has verified. Its name is the common name, else the
// first DNS name.
func (a *Authenticator) Certificate(c *x509.Certificate) (domain.Identity, error) {
	name := c.Subject.CommonName
	if name == "" && len(c.DNSNames) > 0 {
		name = c.DNSNames[0]
	}
	t, ok := a.Directory.Token(name)
	if !ok || !t.Certificate || name == "" {
		return domain.Identity{}, a.refuse("", badCertificate, domain.Errorf(domain.Unauthenticated, "the client certificate gives no access; create a token for the name in it, or send a token"))
	}
	if a.ended(t.Identity()) {
		return domain.Identity{}, a.refuse("", expired, domain.Errorf(domain.Unauthenticated, "the access of the client certificate has expired; ask for a new one"))
	}
	a.used(t)
	return t.Identity(), nil
}
