package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"ledge/bridge/guard"
	"ledge/domain"
)

func TestJWTSettings(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, ""},
		{[]string{"--jwt-issuer=https://id.example.org", "--jwt-audience=ledge"}, ""},
		{[]string{"--jwt-issuer=http://127.0.0.1:8080/realm", "--jwt-audience=ledge"}, ""},
		{[]string{"--jwt-issuer=plant", "--jwt-audience=ledge", "--jwt-jwks=/etc/ledge/keys.json"}, ""},
		{[]string{"--jwt-issuer=https://id.example.org"}, "setting jwt-audience"},
		{[]string{"--jwt-audience=ledge"}, "setting jwt-audience: ledge: set jwt-issuer too"},
		{[]string{"--jwt-jwks=keys.json"}, "setting jwt-jwks: keys.json: set jwt-issuer too"},
		{[]string{"--jwt-issuer=plant", "--jwt-audience=ledge"}, "setting jwt-issuer: plant: is no URL"},
		{[]string{"--jwt-issuer=http://id.example.org", "--jwt-audience=ledge"}, "use https://"},
		{[]string{"--jwt-issuer=https://id.example.org", "--jwt-audience=ledge", "--jwt-jwks=http://id.example.org/keys"}, "setting jwt-jwks"},
		{[]string{"--jwt-role-claim="}, "setting jwt-role-claim"},
	} {
		config := &Config{}
		flags := config.settings()
		if err := flags.Parse(c.flags); err != nil {
			t.Fatal(err)
		}
		err := config.check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want %q", c.flags, err, c.want)
		}
	}
}

// directory has no users or tokens.
type directory struct{}

func (directory) User(string) (domain.User, bool)    { return domain.User{}, false }
func (directory) Token(string) (domain.Token, bool)  { return domain.Token{}, false }
func (directory) Credential(string) (string, bool)   { return "", false }
func (directory) PutCredential(string, string) error { return nil }

// The keys of an issuer are fetched over TLS, from where the guard lets Ledge go, and from servers that are trusted.
func TestKeysOfIssuer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1"}}})
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c := &Config{JWTIssuer: "plant", JWTJWKS: server.URL, JWTAudience: "ledge", JWTRoleClaim: "role"}
	for _, test := range []struct {
		name, deny string
		roots      *x509.CertPool
		want       string
	}{
		{"trusted", "", roots, "keys of the JWT issuer read"},
		{"unknown CA", "", nil, "certificate"},
		{"denied", "127.0.0.0/8", roots, "deny-destinations"},
	} {
		lines := make(chan string, 8)
		logger := slog.New(slog.NewTextHandler(lineWriter(lines), nil))
		a := newAuthenticator(c, directory{}, directory{}, make([]byte, 32), guard.New(guard.Options{Deny: guard.MustRules(test.deny)}), test.roots, nil, logger)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx); close(ended) }()
		if line := <-lines; !strings.Contains(line, test.want) {
			t.Errorf("%s: got %s, want %q", test.name, line, test.want)
		}
		cancel()
		<-ended
	}
}

// lineWriter passes on what is written.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) { w <- string(p); return len(p), nil }
