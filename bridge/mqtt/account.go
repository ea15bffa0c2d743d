package mqtt

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Secrets are asked for credentials by path.
type Secrets interface {
	Get(path string) (map[string]string, bool)
}

// key tells connections apart.
type key struct {
	scheme, host, client string
	port                 int
	keepAlive            time.Duration
	skipVerify           bool
	secret               [sha256.Size]byte // of the credentials: new ones need a new connection
}

// account is who connects, and whom it trusts.
type account struct {
	username, password string
	tls                *tls.Config // nil for none
}

// resolve finds the credentials of a target. Its errors have no values of secrets.
func resolve(t Target, secrets Secrets) (k key, a account, err error) {
	k = key{scheme: t.Scheme, host: t.Host, client: t.Publisher, port: t.Port, keepAlive: t.KeepAlive, skipVerify: t.SkipCertVerify}
	var secret map[string]string
	if t.AuthMode != AuthNone {
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
	if secure[t.Scheme] {
		a.tls, err = trust(t, secret)
	}
	return k, a, err
}

func find(t Target, secrets Secrets) (map[string]string, error) {
	secret, ok := secrets.Get(t.SecretPath)
	if !ok {
		return nil, fmt.Errorf("secretPath: there is no secret %q; post it to /api/v2/secret", t.SecretPath)
	}
	for _, name := range needs[t.AuthMode] {
		if secret[name] == "" {
			return nil, fmt.Errorf("secretPath: the secret %q has no %s, which authMode %s needs; post it again with that", t.SecretPath, name, t.AuthMode)
		}
	}
	return secret, nil
}

// trust is the TLS configuration of a target.
func trust(t Target, secret map[string]string) (*tls.Config, error) {
	c := &tls.Config{ServerName: t.Host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipCertVerify}
	if pem := secret["cacert"]; pem != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return nil, fmt.Errorf("secretPath: cacert of the secret %q is no certificate in PEM; post it again", t.SecretPath)
		}
	}
	if t.AuthMode == AuthClientCert {
		pair, err := tls.X509KeyPair([]byte(secret["clientcert"]), []byte(secret["clientkey"]))
		if err != nil {
			return nil, fmt.Errorf("secretPath: clientcert and clientkey of the secret %q are no certificate with its key in PEM; post them again", t.SecretPath)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
