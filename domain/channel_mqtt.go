package domain

import "strings"

// ChannelMQTT is the Type of a channel that publishes on an MQTT broker.
const ChannelMQTT = "MQTT"

// The ways in which an MQTT channel logs in, as EdgeX 4 calls them; empty stands for none.
const (
	AuthNone     = "none"
	AuthPassword = "usernamepassword"
	AuthCert     = "clientcert"
	AuthCACert   = "cacert"
)

var authModes = []string{AuthNone, AuthPassword, AuthCert, AuthCACert}

func init() {
	addChannelKind(ChannelKind{
		Type: ChannelMQTT, Place: 3, UsesSecret: true, secure: []string{"ssl", "tls", "mqtts"}, check: Channel.checkMQTT,
		path: func(c Channel) string { return c.Topic },
		Fields: []ChannelField{
			{Name: "scheme", Label: "Scheme", Choices: []string{"tcp", "mqtt", "ssl", "tls", "mqtts"}, Default: "tcp"},
			{Name: "host", Label: "Broker's host", Required: true},
			{Name: "port", Label: "Port", Required: true, Default: "1883"},
			{Name: "topic", Label: "Topic", Required: true},
			{Name: "publisher", Label: "Publisher (client id)", Required: true},
			{Name: "qos", Label: "QoS", Choices: []string{"0", "1", "2"}, Default: "0"},
			{Name: "authMode", Label: "Login", Choices: authModes, Default: AuthNone, Advanced: true},
			{Name: "secretPath", Label: "Path of the secret", Advanced: true},
			{Name: "retained", Label: "The broker keeps the last message", Advanced: true},
			{Name: "autoReconnect", Label: "Connect again by itself", Advanced: true},
			{Name: "skipCertVerify", Label: "Do not check the certificate", Advanced: true},
			{Name: "keepAlive"}, {Name: "connectTimeout"},
		},
	})
}

// checkMQTT holds that Publisher and Topic are there, as EdgeX does, and that a broker takes the rest.
func (c Channel) checkMQTT(p *Problems) {
	c.checkAddress(p, "give the broker's address or name")
	c.checkHost(p)
	if c.Publisher == "" {
		p.Add("publisher", "is missing or empty; give the client id at the broker")
	}
	p.checkLength("publisher", c.Publisher)
	c.checkTopic(p, "give the topic to publish on")
	if strings.ContainsAny(c.Topic, "+#\x00") {
		p.Add("topic", "%s has a wildcard; publish on one topic, without + and #", quote(c.Topic))
	}
	if c.QoS < 0 || c.QoS > 2 {
		p.Add("qos", "%d is not a quality of service; use 0, 1 or 2", c.QoS)
	}
	checkSeconds(p, "keepAlive", c.KeepAlive)
	checkSeconds(p, "connectTimeout", c.ConnectTimeout)
	c.checkAuth(p)
}

func (c Channel) checkAuth(p *Problems) {
	p.checkLength("secretPath", c.SecretPath)
	if c.AuthMode == "" {
		return
	}
	p.checkOneOf("authMode", c.AuthMode, authModes...)
	if c.AuthMode != AuthNone && c.SecretPath == "" {
		p.Add("secretPath", "is missing or empty, and authMode %s needs a secret; name one, or use authMode %s", quote(c.AuthMode), AuthNone)
	}
	if !c.Secure() && (c.AuthMode == AuthCert || c.AuthMode == AuthCACert) {
		p.Add("authMode", "%s needs TLS; use the scheme ssl", quote(c.AuthMode))
	}
}

// checkSeconds takes numbers of 16 bits, as MQTT has for its keep alive.
func checkSeconds(p *Problems, path string, n int) {
	if n < 0 || n > 65535 {
		p.Add(path, "%d is out of range; use 0 to 65535 seconds", n)
	}
}
