package domain

import (
	"bytes"
	"crypto/ecdh"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"ledge/domain/z85"
)

// Check notes what is wrong with a channel.
func (c Channel) Check() Problems {
	var p Problems
	p.checkOneOf("type", c.Type, ChannelTypes()...)
	if k, ok := c.Kind(); ok {
		k.check(c, &p)
		if c.Scheme != "" && len(k.Schemes) > 0 {
			p.checkOneOf("scheme", c.Scheme, k.Schemes...)
		}
	}
	return p
}

func (c Channel) checkZeroMQ(p *Problems) {
	c.checkAddress(p, `give "*" for all interfaces, an address or an interface's name`)
	p.checkLength("publisher", c.Publisher)
	c.checkTopic(p, "give the key that subscribers filter on")
	if n := len(c.Allow); n > MaxAllow {
		p.Add("allow", "has %d entries; use at most %d, and larger networks", n, MaxAllow)
		return
	}
	checkIndexed(p, "allow", c.Allow, checkNetwork)
	if n := len(c.ClientKeys); n > MaxClientKeys {
		p.Add("clientKeys", "has %d entries; use at most %d, and another channel for more", n, MaxClientKeys)
		return
	}
	checkIndexed(p, "clientKeys", c.ClientKeys, checkClientKey)
}

// anyPrivateKey is a key that is no secret.
var anyPrivateKey = func() *ecdh.PrivateKey {
	key, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{1}, z85.KeyBytes))
	if err != nil {
		panic(err)
	}
	return key
}()

// checkClientKey takes a public key of CURVE. Of some keys, such as 40 zeros, everybody is the owner.
func checkClientKey(p *Problems, path, v string) {
	b, err := z85.Decode(v)
	if err != nil || len(b) != z85.KeyBytes {
		p.Add(path, "%s is no public key of CURVE; give the %d characters that ZeroMQ's curve_keypair made", quote(v), z85.KeyLength)
		return
	}
	key, err := ecdh.X25519().NewPublicKey(b)
	if err == nil {
		_, err = anyPrivateKey.ECDH(key)
	}
	if err != nil {
		p.Add(path, "%s is a key that protects nothing; make a pair of keys with ZeroMQ's curve_keypair", quote(v))
	}
}

// checkNetwork takes a network as 10.0.0.0/8, or an address.
func checkNetwork(p *Problems, path, v string) {
	if network, err := netip.ParsePrefix(v); err == nil {
		if network != network.Masked() {
			p.Add(path, "%s has bits set behind its length; write the network as %s, or an address without a length", quote(v), network.Masked())
		}
		return
	}
	if addr, err := netip.ParseAddr(v); err != nil || addr.Zone() != "" {
		p.Add(path, "%s is neither a network nor an address; write it as 10.0.0.0/8 or 10.1.2.3", quote(v))
	}
}

// checkAddress says how to give a host where there is none.
func (c Channel) checkAddress(p *Problems, cure string) {
	if c.Host == "" {
		p.Add("host", "is missing or empty; %s", cure)
	}
	p.checkLength("host", c.Host)
	if c.Port < 1 || c.Port > 65535 {
		p.Add("port", "%d is no TCP port; use 1 to 65535", c.Port)
	}
}

func (c Channel) checkTopic(p *Problems, cure string) {
	if c.Topic == "" {
		p.Add("topic", "is missing or empty; %s", cure)
	}
	p.checkLength("topic", c.Topic)
}

// checkREST takes the methods that EdgeX takes, but not TRACE and CONNECT: nothing can be delivered with them.
func (c Channel) checkREST(p *Problems) {
	c.checkAddress(p, "give the receiver's address or name")
	p.checkOneOf("httpMethod", c.HTTPMethod, "POST", "PUT", "PATCH", "GET", "HEAD", "DELETE")
	if len(c.Path) > MaxPath {
		p.Add("path", "is %d bytes long; use at most %d", len(c.Path), MaxPath)
		return
	}
	c.checkHost(p)
	if _, err := url.Parse("http://host/" + strings.TrimPrefix(c.Path, "/")); err != nil {
		p.Add("path", "%s is no path of a URL; write it as /notify, with %%20 for a space", quote(c.Path))
	}
}

// checkHost holds that the host stays the host in a URL.
func (c Channel) checkHost(p *Problems) {
	host := c.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u, err := url.Parse("http://" + host + ":" + strconv.Itoa(max(c.Port, 0)) + "/")
	if c.Host != "" && (err != nil || u.Hostname() != c.Host || u.User != nil) {
		p.Add("host", "%s is no address or name of a host; write it without a scheme, a port or a path", quote(c.Host))
	}
}

func (c Channel) checkEmail(p *Problems) {
	if len(c.Recipients) == 0 {
		p.Add("recipients", "is missing or empty; give at least one address")
	}
	if n := len(c.Recipients); n > MaxRecipients {
		p.Add("recipients", "has %d entries; use at most %d, and another channel for more", n, MaxRecipients)
		return
	}
	checkIndexed(p, "recipients", c.Recipients, func(p *Problems, path, v string) {
		if a, err := mail.ParseAddress(v); err != nil || a.Address != v {
			p.Add(path, "%s is no e-mail address; write it as name@example.com", quote(v))
		}
		p.checkLength(path, v)
	})
}

// checkMQTT holds that Publisher and Topic are there, as EdgeX does, and that the rest is what a broker takes.
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
		p.Add("qos", "%d is no quality of service; use 0, 1 or 2", c.QoS)
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
	p.checkOneOf("authMode", c.AuthMode, AuthNone, AuthPassword, AuthCert, AuthCACert)
	if c.AuthMode != AuthNone && c.SecretPath == "" {
		p.Add("secretPath", "is missing or empty, and authMode %s needs a secret; name one, or use authMode %s", quote(c.AuthMode), AuthNone)
	}
	if plain := c.Scheme == "" || c.Scheme == "tcp" || c.Scheme == "mqtt"; plain && (c.AuthMode == AuthCert || c.AuthMode == AuthCACert) {
		p.Add("authMode", "%s needs TLS; use the scheme ssl", quote(c.AuthMode))
	}
}

// checkSeconds takes what fits the 16 bits that MQTT has for its keep alive.
func checkSeconds(p *Problems, path string, n int) {
	if n < 0 || n > 65535 {
		p.Add(path, "%d is out of range; use 0 to 65535 seconds", n)
	}
}
