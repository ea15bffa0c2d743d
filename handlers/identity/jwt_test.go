package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"ledge/domain"
)

// provider is an issuer of JWTs with discovery, over TLS.
type provider struct {
	*httptest.Server
	key     *ecdsa.PrivateKey
	set     jose.JSONWebKeySet
	down    atomic.Bool
	fetches atomic.Int64
	text    atomic.Value // of the JWKS, if it is not set
}

func mustProvider(tb testing.TB) *provider {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	p := &provider{key: key, set: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.fetches.Add(1)
		if p.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if text := p.text.Load(); text != nil {
			_, _ = io.WriteString(w, text.(string))
			return
		}
		_ = json.NewEncoder(w).Encode(p.set)
	})
	p.Server = httptest.NewTLSServer(mux)
	tb.Cleanup(p.Close)
	return p
}

func (p *provider) claims() map[string]any {
	return map[string]any{"iss": p.URL, "sub": "pos-7", "aud": []string{"other", "ledge"}, "exp": at.Add(time.Hour).Unix(), "iat": at.Unix(), "role": "poster", "devices": []string{"cam-*"}}
}

func mustSign(tb testing.TB, algorithm jose.SignatureAlgorithm, key any, kid string, claims map[string]any) string {
	tb.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", kid))
	if err != nil {
		tb.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// mustTrust returns an Authenticator that has the provider's keys.
func mustTrust(tb testing.TB, p *provider, change func(*JWT)) *Authenticator {
	tb.Helper()
	o := &JWT{Issuer: p.URL, Audience: "ledge", Client: p.Client()}
	if change != nil {
		change(o)
	}
	a, _ := mustNew(tb, newWorld(), func(all *Options) { all.JWT, all.Now = o, func() time.Time { return at } })
	if err := a.issuer.keys.fetch(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return a
}

func TestJWT(t *testing.T) {
	p := mustProvider(t)
	a := mustTrust(t, p, nil)
	other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	with := func(name string, value any) map[string]any {
		c := p.claims()
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	sign := func(claims map[string]any) string { return mustSign(t, jose.ES256, p.key, "k1", claims) }
	public, err := json.Marshal(p.key.X)
	if err != nil {
		t.Fatal(err)
	}
	good := sign(p.claims())
	parts := strings.Split(good, ".")
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"` + p.URL + `","sub":"x","aud":"ledge","role":"admin","exp":99999999999}`))
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"k1"}`))

	for _, c := range []struct {
		name, token string
		code        domain.Code
		want        string
	}{
		{"tampered", parts[0] + "." + forged + "." + parts[2], domain.Unauthenticated, "signature"},
		{"none", none + "." + forged + ".", domain.Unauthenticated, "algorithm"},
		{"none, signed", none + "." + parts[1] + "." + parts[2], domain.Unauthenticated, "algorithm"},
		{"HMAC with the public key", mustSign(t, jose.HS256, append(public, make([]byte, 32)...), "k1", p.claims()), domain.Unauthenticated, "algorithm"},
		{"wrong key", mustSign(t, jose.ES256, other, "k1", p.claims()), domain.Unauthenticated, "signature"},
		{"unknown key", mustSign(t, jose.ES256, other, "k2", p.claims()), domain.Unauthenticated, "key that Ledge does not know"},
		{"expired", sign(with("exp", at.Add(-61*time.Second).Unix())), domain.Unauthenticated, "has expired; ask for a new one"},
		{"no expiry", sign(with("exp", nil)), domain.Unauthenticated, "exp is missing"},
		{"not yet", sign(with("nbf", at.Add(61*time.Second).Unix())), domain.Unauthenticated, "not valid yet"},
		{"issued later", sign(with("iat", at.Add(61*time.Second).Unix())), domain.Unauthenticated, "not valid yet"},
		{"audience", sign(with("aud", "other")), domain.Unauthenticated, `"ledge"`},
		{"no audience", sign(with("aud", nil)), domain.Unauthenticated, `"ledge"`},
		{"issuer", sign(with("iss", "https://example.org")), domain.Unauthenticated, "iss"},
		{"no subject", sign(with("sub", nil)), domain.Unauthenticated, "sub"},
		{"subject with a line feed", sign(with("sub", "a\nb")), domain.Unauthenticated, "sub"},
		{"role", sign(with("role", "boss")), domain.Forbidden, "viewer"},
		{"no role", sign(with("role", nil)), domain.Forbidden, `"role"`},
		{"role is a number", sign(with("role", 1)), domain.Forbidden, `"role"`},
		{"devices", sign(with("devices", []string{})), domain.Forbidden, "devices"},
		{"devices of an operator", sign(with("role", "operator")), domain.Forbidden, "only the role poster"},
		{"devices are numbers", sign(with("devices", []int{1})), domain.Forbidden, "devices"},
	} {
		a.tokens = newSlowdown()
		_, err := a.Bearer(t.Context(), c.token, "10.0.0.1:5")
		wantCode(t, c.name, err, c.code)
		if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, want %q in it", c.name, err, c.want)
		}
	}

	for name, claims := range map[string]map[string]any{
		"plain": p.claims(), "just expired": with("exp", at.Add(-59*time.Second).Unix()), "a little early": with("nbf", at.Add(59*time.Second).Unix()),
		"second role": with("role", []string{"boss", "poster", "admin"}), "one device": with("devices", "cam-*"), "one audience": with("aud", "ledge"),
	} {
		id, err := a.Bearer(t.Context(), sign(claims), "10.0.0.2:5")
		if err != nil || id.Actor != "jwt:pos-7" || id.Role != domain.Poster || !slices.Equal(id.Devices, []string{"cam-*"}) {
			t.Errorf("%s: got %+v, %v", name, id, err)
		}
	}
}

// A JWKS has keys of other algorithms, and some that are skipped.
func TestJWKS(t *testing.T) {
	p := mustProvider(t)
	large, _ := rsa.GenerateKey(rand.Reader, 2048)
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: large.Public(), KeyID: "rsa"}, {Key: edwards.Public(), KeyID: "ed"}, {Key: []byte("a shared key of thirty-two bytes"), KeyID: "oct"},
		{Key: p.key.Public(), KeyID: "enc", Use: "enc"}, {Key: p.key, KeyID: "private"},
	}}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	p.text.Store(strings.Replace(string(text), `"keys":[`, `"keys":[{"kty":"XYZ"},`, 1))
	a := mustTrust(t, p, func(o *JWT) { o.RoleClaim = "realm.roles" })
	claims := p.claims()
	delete(claims, "devices") // which only a poster may have
	claims["realm"] = map[string]any{"roles": []string{"offline", "auditor"}}
	for algorithm, key := range map[jose.SignatureAlgorithm]any{jose.RS256: large, jose.RS512: large, jose.PS384: large, jose.EdDSA: edwards} {
		kid := "rsa"
		if algorithm == jose.EdDSA {
			kid = "ed"
		}
		if id, err := a.Bearer(t.Context(), mustSign(t, algorithm, key, kid, claims), "10.0.0.1:5"); err != nil || id.Role != domain.Auditor {
			t.Errorf("%s: got %+v, %v", algorithm, id, err)
		}
	}
	for _, kid := range []string{"enc", "private", "ed", ""} {
		a.tokens = newSlowdown()
		_, err := a.Bearer(t.Context(), mustSign(t, jose.ES256, p.key, kid, claims), "10.0.0.9:5")
		wantCode(t, "key "+kid, err, domain.Unauthenticated)
	}
	for _, bad := range []string{"", "{}", `{"keys":[{"kty":"oct","k":"AAAA"}]}`, `{"keys":[` + strings.Repeat(`{},`, mostKeys) + `{}]}`} {
		if _, err := parseKeys([]byte(bad)); err == nil {
			t.Errorf("%.40s: no error", bad)
		}
	}
}

// While the issuer is down, the last keys stay.
func TestIssuerIsDown(t *testing.T) {
	p := mustProvider(t)
	o := JWT{Issuer: p.URL, Audience: "ledge", Client: p.Client()}
	a, _ := mustNew(t, newWorld(), func(all *Options) { all.JWT, all.Now = &o, func() time.Time { return at } })
	token := mustSign(t, jose.ES256, p.key, "k1", p.claims())
	p.down.Store(true)
	if err := a.issuer.keys.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("got %v, want 500", err)
	}
	_, err := a.Bearer(t.Context(), token, "10.0.0.1:5")
	wantCode(t, "no keys yet", err, domain.Unavailable)
	p.down.Store(false)
	if err := a.issuer.keys.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.down.Store(true)
	if err := a.issuer.keys.fetch(t.Context()); err == nil {
		t.Error("no error of an issuer that is down")
	}
	if _, err := a.Bearer(t.Context(), token, "10.0.0.1:5"); err != nil {
		t.Errorf("with the last keys: %v", err)
	}
	a.issuer.keys.o.Issuer += "/"
	if err := a.issuer.keys.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "jwt-issuer") {
		t.Errorf("discovery of another issuer: got %v", err)
	}
	if _, err := readAll(strings.NewReader(strings.Repeat("x", maxKeysBytes+1)), "x"); err == nil {
		t.Error("a long JWKS was read")
	}
}

// countingFetch answers with a JWKS, and counts.
type countingFetch struct {
	text  []byte
	count atomic.Int64
}

func (c *countingFetch) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	text := c.text
	if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
		text = []byte(`{"issuer":"https://id.example.org","jwks_uri":"https://id.example.org/keys"}`)
	} else {
		c.count.Add(1)
	}
	_, _ = w.Write(text)
	return w.Result(), nil
}

// Tokens with unknown keys cause one fetch a minute at most; a new key is found that way.
func TestUnknownKeys(t *testing.T) {
	p := mustProvider(t)
	text, err := json.Marshal(p.set)
	if err != nil {
		t.Fatal(err)
	}
	claims := p.claims()
	claims["iss"] = "https://id.example.org"
	unknown := mustSign(t, jose.ES256, p.key, "k2", claims)
	synctest.Test(t, func(t *testing.T) {
		fetch := &countingFetch{text: text}
		a, _ := mustNew(t, newWorld(), func(o *Options) {
			o.JWT = &JWT{Issuer: "https://id.example.org", Audience: "ledge", Client: &http.Client{Transport: fetch}}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx); close(ended) }()
		synctest.Wait()
		if got := fetch.count.Load(); got != 1 {
			t.Fatalf("at the start: %d fetches, want 1", got)
		}
		time.Sleep(50 * time.Minute)
		if got := fetch.count.Load(); got != 1 {
			t.Errorf("without unknown keys: %d fetches, want 1", got)
		}
		for range 600 {
			_, err := a.Bearer(ctx, unknown, "10.0.0.1:5")
			if err == nil {
				t.Fatal("accepted")
			}
			time.Sleep(time.Second)
		}
		if got := fetch.count.Load(); got < 10 || got > 12 {
			t.Errorf("in ten minutes: %d fetches, want about 11", got)
		}
		cancel()
		<-ended
	})
}
