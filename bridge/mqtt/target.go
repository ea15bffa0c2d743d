package mqtt

import (
	"cmp"
	"time"
)

// Target is the destination of a message. A broker takes its fields.
type Target struct {
	Host string
	Port int
	TLS  bool
	// Publisher is the client id; empty lets the broker choose.
	Publisher string
	Topic     string
	QoS       byte // 0, 1 or 2
	Retained  bool
	// KeepAlive is the longest silence on a connection, rounded to seconds; 0 for 60 s.
	KeepAlive time.Duration
	// AuthMode is one of the Auth constants; empty for none. SecretPath is the path of its secret.
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
	AuthUsernamePassword: {"username", "password"}, AuthClientCert: {"clientcert", "clientkey"}, AuthCACert: {"cacert"},
}

func (t Target) logsIn() bool { return cmp.Or(t.AuthMode, AuthNone) != AuthNone }

func (t Target) keepAlive() time.Duration { return cmp.Or(t.KeepAlive, time.Minute) }
