package mqtt

import (
	"strings"
	"testing"

	"ledge/bridge/mqtttest"
	"ledge/bridge/outward"
	"ledge/bridge/tlstest"
)

const password = "s3cr3t-not-to-be-seen"

func TestUsernameAndPassword(t *testing.T) {
	b := &broker{mqtttest.StartWithAccount(t, "me", password)}
	kept := secrets{"wrong": {"username": "me", "password": password + "!"}, "half": {"username": "me"}}
	s := mustSender(t, func(o *Options) { o.Secrets = kept })
	target := b.target(1)
	target.AuthMode, target.SecretPath = AuthUsernamePassword, "mq"
	refusals := []struct{ path, want string }{
		{"mq", `there is no secret "mq"`}, {"half", "has no password"}, {"wrong", "ot Authorized"},
	}
	for _, c := range refusals {
		target.SecretPath = c.path
		_, err := send(s, target, "x")
		if !outward.Permanent(err) || strings.Contains(err.Error(), password) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.want)) {
			t.Errorf("%s: got %v, want %s", c.path, err, c.want)
		}
	}
	target.AuthMode = AuthNone
	if _, err := send(s, target, "x"); !outward.Permanent(err) {
		t.Errorf("nobody: got %v", err)
	}
	target.AuthMode = AuthUsernamePassword
	kept["wrong"] = map[string]string{"username": "me", "password": password} // mended, in the same place
	mustSend(t, s, target, "x")
}

func TestTLS(t *testing.T) {
	ca := tlstest.NewAuthority(t, "authority")
	serverCert, serverKey := ca.Sign(t, "server")
	clientCert, clientKey := ca.Sign(t, "client")
	other := tlstest.NewAuthority(t, "another")
	otherCert, otherKey := other.Sign(t, "client")
	files := map[string]string{"ca": ca.PEM, "cert": serverCert, "key": serverKey}
	const encrypted = "listener PORT 127.0.0.1\nallow_anonymous true\ncafile DIR/ca\ncertfile DIR/cert\nkeyfile DIR/key\n"
	open := mustBroker(t, encrypted, files)
	strict := mustBroker(t, encrypted+"require_certificate true\n", files)
	s := mustSender(t, func(o *Options) {
		o.Secrets = secrets{
			"ca": {"cacert": ca.PEM}, "other": {"cacert": other.PEM}, "bad": {"cacert": password, "clientcert": password, "clientkey": password},
			"client": {"cacert": ca.PEM, "clientcert": clientCert, "clientkey": clientKey},
			"wrong":  {"cacert": ca.PEM, "clientcert": otherCert, "clientkey": otherKey},
			"user":   {"cacert": ca.PEM, "username": "me", "password": password},
		}
	})
	for _, c := range []struct {
		name      string
		b         *broker
		mode, at  string
		skip, ok  bool
		permanent bool
		want      string
	}{
		{"trusted", open, AuthCACert, "ca", false, true, false, ""},
		{"trusted with a password", open, AuthUsernamePassword, "user", false, true, false, ""},
		{"unknown authority", open, AuthNone, "", false, false, false, "certificate"},
		{"another authority", open, AuthCACert, "other", false, false, false, "certificate"},
		{"unverified", open, AuthNone, "", true, true, false, ""},
		{"no PEM", open, AuthCACert, "bad", false, false, true, `cacert of the secret "bad" is not a certificate in PEM`},
		{"client", strict, AuthClientCert, "client", false, true, false, ""},
		{"no client", strict, AuthCACert, "ca", false, false, false, "connect to the broker"},
		{"wrong client", strict, AuthClientCert, "wrong", false, false, false, "connect to the broker"},
		{"client without PEM", strict, AuthClientCert, "bad", false, false, true, "PEM"},
	} {
		target := c.b.target(1)
		target.TLS, target.AuthMode, target.SecretPath, target.SkipCertVerify = true, c.mode, c.at, c.skip
		_, err := send(s, target, "x")
		if (err == nil) != c.ok || outward.Permanent(err) != c.permanent || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), password)) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
