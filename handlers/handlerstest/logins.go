package handlerstest

import (
	"context"
	"crypto/x509"
	"time"

	"ledge/domain"
)

// Logins are a access.Authenticator that lets every user in and knows no token, so that requests in open mode stay anonymous.
type Logins struct{}

// Bearer implements access.Authenticator.
func (Logins) Bearer(context.Context, string, string) (domain.Identity, error) {
	return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the token is not valid")
}

// Certificate implements access.Authenticator.
func (Logins) Certificate(*x509.Certificate) (domain.Identity, error) {
	return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the certificate is not known")
}

// Password implements access.Authenticator.
func (Logins) Password(_ context.Context, name, password, _ string) (domain.Identity, error) {
	if password == "wrong" {
		return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the user name or the password is wrong")
	}
	return domain.Identity{Actor: "user:" + name, Role: domain.Admin}, nil
}

// Login implements access.Authenticator.
func (Logins) Login(context.Context, string, string, string) (string, time.Time, error) {
	return "token", Now.Add(12 * time.Hour), nil
}
