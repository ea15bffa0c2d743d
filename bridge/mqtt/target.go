package mqtt

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Target is where a message is published.
type Target struct {
	// Scheme is tcp or mqtt, or with TLS ssl, tls or mqtts; empty for tcp.
	Scheme string
	Host   string
	Port   int
	// Publisher is the client id; empty lets the broker choose.
	Publisher string
	Topic     string
	QoS       byte // 0, 1 or 2
	Retained  bool
	// KeepAlive is the longest silence on a connection, rounded to seconds; 0 for 60 s.
	KeepAlive time.Duration
	// AuthMode is one of the Auth constants; empty for none. SecretPath is where the secrets have what it needs.
	AuthMode   string
	SecretPath string
	// SkipCertVerify trusts every certificate of the broker.
	SkipCertVerify bool
}

// The AuthModes, as in EdgeX.
const (
	AuthNone             = "none"
	AuthUsernamePassword = "usernamepassword" // username and password
	AuthClientCert       = "clientcert"       // clientcert and clientkey, as PEM
	AuthCACert           = "cacert"           // cacert, as PEM
)

// needs are the keys that a secret must have, by AuthMode. A cacert is used in every mode, where there is one.
var needs = map[string][]string{
	AuthNone: nil, AuthUsernamePassword: {"username", "password"}, AuthClientCert: {"clientcert", "clientkey"}, AuthCACert: {"cacert"},
}

// secure says whether a scheme means TLS.
var secure = map[string]bool{"tcp": false, "mqtt": false, "ssl": true, "tls": true, "mqtts": true}

const maxTopic = 65535 // bytes, by the protocol

// normal returns t with its defaults; errors name the fields as the JSON of a channel does.
func (t Target) normal() (Target, error) {
	if t.Scheme = strings.ToLower(t.Scheme); t.Scheme == "" {
		t.Scheme = "tcp"
	}
	if t.AuthMode = strings.ToLower(t.AuthMode); t.AuthMode == "" {
		t.AuthMode = AuthNone
	}
	if t.KeepAlive <= 0 {
		t.KeepAlive = time.Minute
	}
	t.Host = strings.TrimSuffix(strings.TrimPrefix(t.Host, "["), "]")
	return t, t.check()
}

func (t Target) check() error {
	tls, known := secure[t.Scheme]
	_, mode := needs[t.AuthMode]
	switch {
	case !known:
		return fmt.Errorf("scheme: %q is unknown; use one of tcp, mqtt, ssl, tls, mqtts", t.Scheme)
	case t.Host == "":
		return fmt.Errorf("host: is missing; give the broker's")
	case t.Port < 1 || t.Port > 65535:
		return fmt.Errorf("port: %d is no TCP port; use 1 to 65535", t.Port)
	case t.Topic == "" || len(t.Topic) > maxTopic || strings.ContainsAny(t.Topic, "+#\x00") || !utf8.ValidString(t.Topic):
		return fmt.Errorf("topic: %.80q is no topic to publish on; give a text without + and #", t.Topic)
	case t.QoS > 2:
		return fmt.Errorf("qos: %d is unknown; use 0, 1 or 2", t.QoS)
	case !mode:
		return fmt.Errorf("authMode: %q is unknown; use one of none, usernamepassword, clientcert, cacert", t.AuthMode)
	case !tls && (t.AuthMode == AuthClientCert || t.AuthMode == AuthCACert):
		return fmt.Errorf("authMode: %s needs TLS; use the scheme ssl", t.AuthMode)
	}
	return nil
}
