package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

func TestJWTSettings(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, ""},
		{[]string{"--jwt-issuer=https://id.example.org", "--jwt-audience=ledge"}, ""},
		{[]string{"--jwt-issuer=http://127.0.0.1:8080/realm", "--jwt-audience=ledge"}, ""},
		{[]string{"--jwt-issuer=https://id.example.org"}, "setting jwt-audience"},
		{[]string{"--jwt-audience=ledge"}, "setting jwt-audience: ledge: set jwt-issuer too"},
		{[]string{"--jwt-issuer=plant", "--jwt-audience=ledge"}, "setting jwt-issuer: plant: is no URL"},
		{[]string{"--jwt-issuer=http://id.example.org", "--jwt-audience=ledge"}, "use https://"},
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

// The keys of an issuer are fetched over TLS, from where the guard lets Ledge go, and from servers that are trusted.
func TestKeysOfIssuer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": server.URL, "jwks_uri": server.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1"}}})
	})
	trusted := mustWriteFile(t, "issuer.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for _, test := range []struct{ name, deny, roots, want string }{
		{"trusted", "", trusted, "keys of the JWT issuer read"},
		{"unknown CA", "", mustWriteFile(t, "none.pem", ""), "certificate signed by unknown authority"},
		{"denied", "127.0.0.0/8", trusted, "deny-destinations"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("SSL_CERT_FILE", test.roots) // which Go reads on Linux
			p := start(t, t.TempDir(), "--secure", "--jwt-issuer", server.URL, "--jwt-audience", "ledge", "--deny-destinations", test.deny)
			p.waitLog(test.want)
		})
	}
}
