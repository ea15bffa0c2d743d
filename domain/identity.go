package domain

import (
	"slices"
	"strings"
)

// Identity is the person or program that sends a request.
type Identity struct {
	// Actor is what events say: "user:anna", "token:pos-7", "cert:cam-1", "jwt:subject", "local", or [AnonymousAt] an address.
	Actor string
	Role  Role
	// Devices are patterns of the names of the devices to which the identity may post; * stands for any characters. Empty is every device.
	Devices []string
	// Credential is the id of the hash that proved the identity; empty where none did, as for a client certificate.
	Credential string
	// Until is when the identity ends, in milliseconds since the Unix epoch; 0 is never.
	Until int64
}

// Identity is that of the user.
func (u User) Identity() Identity {
	return Identity{Actor: "user:" + u.Name, Role: u.Role, Credential: u.Credential}
}

// Identity is that of a client that proves to have the token.
func (t Token) Identity() Identity {
	kind := "token:"
	if t.Certificate {
		kind = "cert:"
	}
	return Identity{Actor: kind + t.Name, Role: t.Role, Devices: t.Devices, Credential: t.Credential, Until: t.Expires}
}

// proved is the identity that the secret with the hash of an id stands for. The secret before the last rotation ends earlier.
func (t Token) proved(credential string) Identity {
	i := t.Identity()
	if t.Old != "" && credential == t.Old {
		i.Credential = t.Old
		if i.Until == 0 || t.OldUntil < i.Until {
			i.Until = t.OldUntil
		}
	}
	return i
}

// Proofs are the identities of the secrets that a token has: the one of now first.
func (t Token) Proofs() []Identity {
	if t.Old == "" {
		return []Identity{t.Identity()}
	}
	return []Identity{t.Identity(), t.proved(t.Old)}
}

// Still refuses, with Forbidden, an identity that is not what it was: its user or token is gone, has another role, other devices or other
// credentials, or its time is over. at is in milliseconds since the Unix epoch. What is not a user or a token here can only expire.
func (i Identity) Still(s State, at int64) error {
	now, known := i, true
	switch kind, name, _ := strings.Cut(i.Actor, ":"); kind {
	case "user":
		var u User
		u, known = s.Users.Get(name)
		now = u.Identity()
	case "token", "cert":
		var t Token
		t, known = s.Tokens.Get(name)
		now = t.proved(i.Credential)
	}
	switch {
	case !known:
		return Errorf(Forbidden, "%s was removed or revoked while the request was under way; send it again with another login", i.Actor)
	case now.Actor != i.Actor || now.Credential != i.Credential:
		return Errorf(Forbidden, "%s got a new password, or was revoked and made again, while the request was under way; log in again and repeat it", i.Actor)
	case i.Until != 0 && at >= i.Until, now.Until != 0 && at >= now.Until:
		return Errorf(Forbidden, "%s expired while the request was under way; log in again and repeat it", i.Actor)
	case now.Role != i.Role || !slices.Equal(now.Devices, i.Devices):
		return Errorf(Forbidden, "%s got the role %s in place of %s, or other devices, while the request was under way; repeat it if that role may send it", i.Actor, now.Role, i.Role)
	}
	return nil
}

// MayPostTo reports whether the identity may post values to a device.
func (i Identity) MayPostTo(device string) bool {
	if !i.Role.May(MayPost) {
		return false
	}
	for _, pattern := range i.Devices {
		if matches(pattern, device) {
			return true
		}
	}
	return len(i.Devices) == 0
}

// matches reports whether a name matches a pattern in which * stands for any characters. It takes linear time for each *.
func matches(pattern, name string) bool {
	star, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0: // the last star takes one character more
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
