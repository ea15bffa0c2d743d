package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"ledge/domain"
)

// No text but the tokens that were given out proves an identity.
func FuzzBearer(f *testing.F) {
	p := mustProvider(f)
	a := mustTrust(f, p, nil)
	w := a.Directory.(*world)
	w.mustUser(f, "anna", "right", domain.Admin, "c1")
	w.tokens["cam-1"] = domain.Token{Name: "cam-1", Role: domain.Poster, Certificate: true}
	login, _, err := a.Login(f.Context(), "anna", "right", "10.0.0.1:5")
	if err != nil {
		f.Fatal(err)
	}
	given := map[string]bool{}
	for _, token := range []string{login, w.addToken(domain.Token{Name: "pos_7", Role: domain.Admin}), mustSign(f, jose.ES256, p.key, "k1", p.claims())} {
		given[signed(token)] = true
		f.Add(token, "10.0.0.1:5")
		f.Add(token[:len(token)-1], "[::1]:5")
		f.Add(token+"A", "")
	}
	for _, text := range []string{"", "ledge_", "ledge_cam-1_", loginPrefix, loginPrefix + "YW5uYQ.99999999999.", "..", "e30.e30.e30", "eyJhbGciOiJub25lIn0.e30."} {
		f.Add(text, "x")
	}
	f.Fuzz(func(t *testing.T, token, address string) {
		a.Now = func() time.Time { return at }
		if id, err := a.Bearer(t.Context(), token, address); err == nil && !given[signed(token)] {
			t.Errorf("%q proves %+v", token, id)
		}
	})
}

// signed returns what a token's signature covers: base64 can write the same signature in several ways.
func signed(token string) string {
	return token[:max(strings.LastIndexByte(token, '.'), 0)] + secretOf(token)
}

// secretOf returns the whole of a token that has no signature.
func secretOf(token string) string {
	if strings.Contains(token, ".") {
		return ""
	}
	return token
}
