package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"

	"ledge/domain"
)

// maxToken is the longest token that is looked at, in bytes.
const maxToken = 16 << 10

const secretPrefix = "ledge_"

// NewToken returns a new secret token with a name, and the hash to store.
func NewToken(name string) (token, hash string) {
	token = secretPrefix + name + "_" + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}

// Bearer proves who sends a token: a secret token, one of a login, or a JWT.
func (a *Authenticator) Bearer(ctx context.Context, token, address string) (domain.Identity, error) {
	id, name, reason, err := a.bearer(token)
	if err == nil {
		return id, nil
	}
	client, now := clientOf(address), a.Now()
	if reason != badToken && reason != badLogin && reason != badJWT {
		return domain.Identity{}, a.refuse(client, reason, err) // the token is genuine
	}
	if wait := a.tokens.wait(client, name, now); wait > 0 {
		return domain.Identity{}, a.slowDown(client, wait)
	}
	a.tokens.failed(client, name, now)
	return domain.Identity{}, a.refuse(client, reason, err)
}

// bearer also returns what a failure counts for, and its reason.
func (a *Authenticator) bearer(token string) (id domain.Identity, name, reason string, err error) {
	switch {
	case len(token) > maxToken:
		return id, "", badToken, domain.Errorf(domain.Unauthenticated, "the token has %d bytes; tokens have at most %d", len(token), maxToken)
	case strings.HasPrefix(token, secretPrefix):
		return a.secretToken(token)
	case strings.HasPrefix(token, loginPrefix):
		return a.loginToken(token)
	case a.issuer != nil && strings.Count(token, ".") == 2:
		id, reason, err := a.issuer.identity(token)
		return id, "jwt", reason, err
	}
	return id, "", badToken, errToken()
}

func errToken() error {
	return domain.Errorf(domain.Unauthenticated, "the token is not valid; ask for a new one")
}

// secretToken looks the token up each time: a revoked one is refused at once.
func (a *Authenticator) secretToken(token string) (id domain.Identity, name, reason string, err error) {
	rest := token[len(secretPrefix):]
	name = rest[:max(strings.LastIndexByte(rest, '_'), 0)]
	t, known := a.Directory.Token(name)
	if !known {
		t = domain.Token{} // compared too
	}
	for _, id := range t.Proofs() {
		if !a.proves(token, id.Credential) {
			continue
		}
		if a.ended(id) {
			return id, name, expired, domain.ErrExpired
		}
		a.used(t)
		return id, name, "", nil
	}
	return id, name, badToken, errToken()
}

func (a *Authenticator) ended(id domain.Identity) bool {
	return id.Until != 0 && !a.Now().Before(time.UnixMilli(id.Until))
}

// proves reports whether a token has the hash of an id.
func (a *Authenticator) proves(token, credential string) bool {
	stored, ok := "", false
	if credential != "" {
		stored, ok = a.Credentials.Credential(credential)
	}
	var want, got [2 * sha256.Size]byte
	copy(want[:], stored)
	sum := sha256.Sum256([]byte(token))
	hex.Encode(got[:], sum[:])
	same := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	return same && ok && len(stored) == len(want)
}

func (a *Authenticator) used(t domain.Token) {
	if a.Used != nil {
		a.Used(t.Name, a.Now())
	}
}
