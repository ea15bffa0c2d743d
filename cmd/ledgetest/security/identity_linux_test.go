package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"ledge/cmd/ledgetest"
)

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
	trusted := ledgetest.MustWriteFile(t, "issuer.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for _, test := range []struct{ name, deny, roots, want string }{
		{"trusted", "", trusted, "keys of the JWT issuer read"},
		{"unknown CA", "", ledgetest.MustWriteFile(t, "none.pem", ""), "certificate signed by unknown authority"},
		{"denied", "127.0.0.0/8", trusted, "deny-destinations"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("SSL_CERT_FILE", test.roots) // which Go reads on Linux
			p := ledgetest.Start(t, t.TempDir(), "--secure", "--jwt-issuer", server.URL, "--jwt-audience", "ledge", "--deny-destinations", test.deny)
			p.WaitLog(test.want)
		})
	}
}
