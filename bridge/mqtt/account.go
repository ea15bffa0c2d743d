package mqtt

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ledge/bridge/outward"
)

// key tells connections apart.
type key struct {
	host, client string
	port         int
	tls          bool
	keepAlive    time.Duration
	skipVerify   bool
	secret       [sha256.Size]byte // of the credentials: new ones need a new connection
}

// account is who connects, and whom it trusts.
type account struct {
	username, password string
	tls                *tls.Config // nil for none
}

// resolve finds the credentials of a target. Its errors have no values of secrets.
func resolve(t Target, secrets outward.Secrets, roots *x509.CertPool) (k key, a account, err error) {
	k = key{host: t.Host, client: t.Publisher, port: t.Port, tls: t.TLS, keepAlive: t.keepAlive(), skipVerify: t.SkipCertVerify}
	var secret map[string]string
	if t.logsIn() {
		if secret, err = find(t, secrets); err != nil {
			return k, a, err
		}
		text, err := json.Marshal([]any{t.AuthMode, secret}) // the keys of a map come sorted
		if err != nil {
			return k, a, errors.New("encode the secret")
		}
		k.secret = sha256.Sum256(text)
	}
	if t.AuthMode == AuthUsernamePassword {
		a.username, a.password = secret["username"], secret["password"]
	}
	if t.TLS {
		a.tls, err = trust(t, secret, roots)
	}
	return k, a, err
}

// use is what a target uses its secret for.
func (t Target) use() outward.Use {
	return outward.Use{Host: t.Host, Port: t.Port, Insecure: !t.TLS || t.SkipCertVerify}
}

// CheckSecret returns why a target may not use the secret that it names. A secret that is not there yet is not a reason.
func (s *Sender) CheckSecret(t Target) error {
	if !t.logsIn() {
		return nil
	}
	if _, err := s.o.Secrets.Use(t.SecretPath, t.use()); err != nil && !errors.Is(err, outward.ErrNoSecret) {
		return err
	}
	return nil
}

func find(t Target, secrets outward.Secrets) (map[string]string, error) {
	secret, err := secrets.Use(t.SecretPath, t.use())
	if err != nil {
		return nil, fmt.Errorf("secretPath: %w", err)
	}
	for _, name := range needs[t.AuthMode] {
		if secret[name] == "" {
			return nil, fmt.Errorf("secretPath: the secret %q has no %s, which authMode %s needs; post it again with that", t.SecretPath, name, t.AuthMode)
		}
	}
	return secret, nil
}

// trust is the TLS configuration of a target. The secret's own authority goes before roots.
func trust(t Target, secret map[string]string, roots *x509.CertPool) (*tls.Config, error) {
	c := &tls.Config{ServerName: t.Host, MinVersion: tls.VersionTLS12, RootCAs: roots, InsecureSkipVerify: t.SkipCertVerify}
	if pem := secret["cacert"]; pem != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return nil, fmt.Errorf("secretPath: cacert of the secret %q is not a certificate in PEM; post it again", t.SecretPath)
		}
	}
	if t.AuthMode == AuthClientCert {
		pair, err := tls.X509KeyPair([]byte(secret["clientcert"]), []byte(secret["clientkey"]))
		if err != nil {
			return nil, fmt.Errorf("secretPath: clientcert and clientkey of the secret %q are not a certificate with its key in PEM; post them again", t.SecretPath)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
