package zeromq

import (
	"crypto/ecdh"
	"crypto/rand"
	"fmt"
	"net/netip"
	"strings"

	"ledge/domain/z85"
)

// Channel is where messages are published, and who may receive them.
type Channel struct {
	Host string
	Port int
	Access
}

// Access says which peers may receive the messages of a channel.
type Access struct {
	// Allow lists networks, such as "10.0.0.0/8", and addresses. Empty means every address.
	Allow []string
	// ClientKeys are public keys of CURVE in Z85. Peers need one of them, and the server's key. Empty means every peer,
	// with and without CURVE.
	ClientKeys []string
}

// key tells one Access from another.
func (a Access) key() string {
	if a.isOpen() {
		return ""
	}
	return strings.Join(a.Allow, ",") + " " + strings.Join(a.ClientKeys, " ")
}

// isOpen reports whether everybody may receive the messages.
func (a Access) isOpen() bool { return len(a.Allow)+len(a.ClientKeys) == 0 }

// parseKey reads a public key. A key of low order would be anybody's: with it the encryption needs no private key.
func parseKey(text string) (key curveKey, err error) {
	b, err := z85.Decode(text)
	if err != nil || len(b) != keyBytes {
		return key, fmt.Errorf("clientKeys: %q is not a public key of CURVE, which has %d characters of Z85", text, z85.KeyLength)
	}
	public, err := ecdh.X25519().NewPublicKey(b)
	if err != nil {
		return key, fmt.Errorf("clientKeys: %q: %w", text, err)
	}
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return key, err
	}
	if _, err := private.ECDH(public); err != nil {
		return key, fmt.Errorf("clientKeys: %q is a key that protects nothing; make a pair of keys with curve_keypair of ZeroMQ", text)
	}
	return curveKey(b), nil
}

// parseNetwork reads a network or an address. An IPv4 network that is written as one of IPv6 is the
// IPv4 network, because the addresses of peers are compared so.
func parseNetwork(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		addr, errAddr := netip.ParseAddr(text)
		if errAddr != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("allow: %q is neither a network nor an address; write it as 10.0.0.0/8 or 10.1.2.3", text)
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p, nil
}

// identity is what is known of a peer.
type identity struct {
	address netip.Addr
	curve   bool
	key     curveKey // with curve: the client's, which it has proved to own
}

// audience is the peers that may receive the messages of the channels with one Access.
type audience struct {
	id       uint64
	key      string
	networks []netip.Prefix
	keys     map[curveKey]bool

	channels int // that have this Access
	inFlight int // messages that may not be in all queues yet
}

func newAudience(a Access) (*audience, error) {
	made := &audience{key: a.key(), keys: map[curveKey]bool{}}
	for _, text := range a.Allow {
		p, err := parseNetwork(text)
		if err != nil {
			return nil, err
		}
		made.networks = append(made.networks, p)
	}
	for _, text := range a.ClientKeys {
		key, err := parseKey(text)
		if err != nil {
			return nil, err
		}
		made.keys[key] = true
	}
	return made, nil
}

// allows reports whether a peer with this address may be in the audience.
func (a *audience) allows(addr netip.Addr) bool {
	for _, p := range a.networks {
		if p.Contains(addr) {
			return true
		}
	}
	return len(a.networks) == 0
}

// admits reports whether a peer may receive the messages.
func (a *audience) admits(who identity) bool {
	return a.allows(who.address) && (!a.needsCurve() || who.curve && a.keys[who.key])
}

// needsCurve reports whether peers need CURVE.
func (a *audience) needsCurve() bool { return len(a.keys) > 0 }
