package identity

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/domain"
)

func TestSecretToken(t *testing.T) {
	w := newWorld()
	now := at
	var used []string
	a, log := mustNew(t, w, func(o *Options) {
		o.Now = func() time.Time { return now }
		o.Used = func(name string, _ time.Time) { used = append(used, name) }
	})
	token := w.addToken(domain.Token{Name: "pos_7", Role: domain.Poster, Devices: []string{"cam-*"}, Expires: at.Add(time.Hour).UnixMilli()})
	other := w.addToken(domain.Token{Name: "other", Role: domain.Admin})
	id, err := a.Bearer(t.Context(), token, "10.0.0.1:5")
	if err != nil || id.Actor != "token:pos_7" || id.Role != domain.Poster || !slices.Equal(id.Devices, []string{"cam-*"}) {
		t.Fatalf("got %+v, %v", id, err)
	}
	secret := token[strings.LastIndexByte(token, '_'):]
	for _, bad := range []string{"", "ledge_", "ledge__", "ledge_pos_7", "ledge_pos_7_", token + "x", token[:len(token)-1], "ledge_other" + secret, "ledge_nobody" + secret, hexOf(token), strings.Repeat("x", maxToken+1)} {
		a.tokens = newSlowdown()
		_, err := a.Bearer(t.Context(), bad, "10.0.0.2:5")
		wantCode(t, bad, err, domain.Unauthenticated)
	}
	// Wrong tokens are slowed down, correct ones never.
	a.tokens = newSlowdown()
	for range freeForName {
		_, _ = a.Bearer(t.Context(), "ledge_pos_7_X", "10.0.0.1:5")
	}
	_, err = a.Bearer(t.Context(), "ledge_pos_7_X", "10.0.0.1:5")
	wantCode(t, "many failures", err, domain.TooMany)
	if _, err := a.Bearer(t.Context(), token, "10.0.0.1:5"); err != nil {
		t.Errorf("a correct token after failures: %v", err)
	}
	now = at.Add(time.Hour)
	_, err = a.Bearer(t.Context(), token, "10.0.0.1:5")
	wantCode(t, "expired", err, domain.Unauthenticated)
	if !strings.Contains(err.Error(), "has expired; ask for a new one") {
		t.Errorf("got %v", err)
	}
	delete(w.tokens, "other")
	_, err = a.Bearer(t.Context(), other, "10.0.0.3:5")
	wantCode(t, "revoked", err, domain.Unauthenticated)
	if !slices.Equal(used, []string{"pos_7", "pos_7"}) || strings.Contains(log.String(), secret) {
		t.Errorf("used %v; log %s", used, log)
	}
}

// A token with a certificate has no secret: nothing can be sent in its place.
func TestCertificate(t *testing.T) {
	w := newWorld()
	w.tokens["cam-1"] = domain.Token{Name: "cam-1", Role: domain.Poster, Certificate: true, Expires: at.Add(time.Hour).UnixMilli()}
	w.addToken(domain.Token{Name: "pos-7", Role: domain.Admin})
	now := at
	a, _ := mustNew(t, w, func(o *Options) { o.Now = func() time.Time { return now } })
	named := func(name string, dns ...string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: dns}
	}
	for _, c := range []*x509.Certificate{named("cam-1"), named("", "cam-1", "pos-7"), named("cam-1", "pos-7")} {
		if id, err := a.Certificate(c); err != nil || id.Actor != "cert:cam-1" || id.Role != domain.Poster {
			t.Errorf("got %+v, %v", id, err)
		}
	}
	for _, c := range []*x509.Certificate{named("pos-7"), named("nobody", "cam-1"), named(""), named("", "x", "cam-1")} {
		_, err := a.Certificate(c)
		wantCode(t, c.Subject.CommonName, err, domain.Unauthenticated)
	}
	for _, token := range []string{"ledge_cam-1_", "ledge_cam-1_X"} {
		_, err := a.Bearer(t.Context(), token, "10.0.0.1:5")
		wantCode(t, token, err, domain.Unauthenticated)
	}
	now = at.Add(time.Hour)
	_, err := a.Certificate(named("cam-1"))
	wantCode(t, "expired", err, domain.Unauthenticated)
}

func TestLogin(t *testing.T) {
	w := newWorld()
	w.mustUser(t, "anna", "right", domain.Viewer, "c1")
	w.mustUser(t, "bert", "right", domain.Admin, "c2")
	now := at
	a, _ := mustNew(t, w, func(o *Options) { o.Now = func() time.Time { return now } })
	token, until, err := a.Login(t.Context(), "anna", "right", "10.0.0.1:5")
	if err != nil || !until.Equal(at.Add(LoginValid)) {
		t.Fatalf("got %v, %v", until, err)
	}
	_, _, err = a.Login(t.Context(), "anna", "wrong", "10.0.0.1:5")
	wantCode(t, "wrong password", err, domain.Unauthenticated)
	accepts := func(token string) (domain.Identity, bool) {
		a.tokens = newSlowdown()
		id, err := a.Bearer(t.Context(), token, "10.0.0.1:5")
		if err != nil {
			wantCode(t, token, err, domain.Unauthenticated)
		}
		return id, err == nil
	}
	if id, ok := accepts(token); !ok || id.Actor != "user:anna" || id.Role != domain.Viewer {
		t.Fatalf("got %+v", id)
	}
	parts := strings.Split(token, ".")
	later := strconv.FormatInt(until.Add(time.Hour).Unix(), 10)
	bert := base64url.EncodeToString([]byte("bert"))
	for _, bad := range []string{
		loginPrefix, loginPrefix + ".", loginPrefix + "..", strings.Join(parts[:3], "."), parts[0] + "." + bert + "." + parts[2] + "." + parts[3],
		parts[0] + "." + parts[1] + "." + later + "." + parts[3], token + "A", token[:len(token)-2], parts[0] + "." + parts[1] + "." + parts[2] + ".",
	} {
		if id, ok := accepts(bad); ok {
			t.Errorf("%s: accepted as %+v", bad, id)
		}
	}
	w.users["anna"] = domain.User{Name: "anna", Role: domain.Operator, Credential: "c1"}
	if id, ok := accepts(token); !ok || id.Role != domain.Operator {
		t.Errorf("after another role: got %+v", id)
	}
	now = until
	if _, ok := accepts(token); ok {
		t.Error("an expired login was accepted")
	}
	now = at
	w.users["anna"] = domain.User{Name: "anna", Role: domain.Operator, Credential: "c3"}
	if _, ok := accepts(token); ok {
		t.Error("a login was accepted after the password was changed")
	}
	w.users["anna"] = domain.User{Name: "anna", Role: domain.Operator, Credential: "c1"}
	a.LoginKey = append([]byte("another"), a.LoginKey...)
	if _, ok := accepts(token); ok {
		t.Error("a login that another key signed was accepted")
	}
	a.LoginKey = loginKey
	delete(w.users, "anna")
	if _, ok := accepts(token); ok {
		t.Error("the login of a removed user was accepted")
	}
}

func BenchmarkBearer(b *testing.B) {
	w := newWorld()
	a, _ := mustNew(b, w, nil)
	w.mustUser(b, "anna", "right", domain.Viewer, "c1")
	login, _, err := a.Login(b.Context(), "anna", "right", "10.0.0.1:5")
	if err != nil {
		b.Fatal(err)
	}
	for name, token := range map[string]string{"token": w.addToken(domain.Token{Name: "pos-7", Role: domain.Poster}), "login": login} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := a.Bearer(b.Context(), token, "10.0.0.1:5"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
