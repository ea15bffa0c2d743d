package domain

import (
	"bytes"
	"crypto/ecdh"
	"net/netip"

	"ledge/domain/z85"
)

// ChannelZeroMQ is the Type of a channel that publishes on a PUB socket.
const ChannelZeroMQ = "ZeroMQ"

// MaxAllow bounds the networks of one channel, and MaxClientKeys its keys.
const (
	MaxAllow      = 64
	MaxClientKeys = 64
)

func init() {
	addChannelKind(ChannelKind{
		Type: ChannelZeroMQ, Place: 4, Binds: true, check: Channel.checkZeroMQ,
		Fields: []ChannelField{
			{
				Name: "host", Label: "Host", Required: true, Default: "*",
				Hint: "The interface or address to listen on; * is all interfaces.",
			},
			{Name: "port", Label: "Port", Required: true, Default: "5563", Hint: "The TCP port that subscribers connect to."},
			{Name: "topic", Label: "Topic", Required: true, Hint: "The first frame of each message. Subscribers filter by it."},
			{Name: "publisher", Label: "Publisher"},
			{Name: "allow"}, {Name: "clientKeys"},
		},
	})
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

// anyPrivateKey is a key that is not a secret.
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
		p.Add(path, "%s is not a public key of CURVE; give the %d characters that ZeroMQ's curve_keypair made", quote(v), z85.KeyLength)
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
