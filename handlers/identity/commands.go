package identity

import (
	"time"

	"ledge/domain"
)

// The commands that come with a password, or with the hash of a token's secret. The command of the domain inside names the id of the hash.
// Whoever records one stores the hash under that id first ([Bare]). So no password and no hash is ever on the log.
type (
	// AddUser adds a user with a password.
	AddUser struct {
		domain.AddUser
		Password string
	}
	// SetPassword gives a user another password.
	SetPassword struct {
		domain.SetPassword
		Password string
	}
	// AddToken adds a token with a secret.
	AddToken struct {
		domain.AddToken
		Hash string
	}
	// RotateToken gives a token another secret.
	RotateToken struct {
		domain.RotateToken
		Hash string
	}
)

// MostLifetime is how long a token, and its old secret after a rotation, may be valid: a hundred years.
const MostLifetime = 36_500 * 24 * time.Hour

// IssueToken returns the command that adds a token, and the token's text, which can be read nowhere else. A token that is a client
// certificate has no text. id is that of the hash.
func IssueToken(t domain.Token, id string) (text string, c domain.Command) {
	if t.Certificate {
		return "", domain.AddToken{Token: t}
	}
	text, hash := NewToken(t.Name)
	t.Credential = id
	return text, AddToken{domain.AddToken{Token: t}, hash}
}

// ReplaceToken returns the command that rotates a token, and the token's new text. The old secret stays valid for the overlap. at is in
// milliseconds since the Unix epoch, id that of the new hash.
func ReplaceToken(name, id string, overlap time.Duration, at int64) (text string, c domain.Command, err error) {
	if overlap < 0 || overlap > MostLifetime {
		return "", nil, domain.FieldErrorf("overlap", "%v; give a time from 0 to 36500 days", overlap)
	}
	text, hash := NewToken(name)
	r := domain.RotateToken{Name: name, Credential: id, At: at}
	if overlap > 0 {
		r.OldUntil = at + max(overlap.Milliseconds(), 1)
	}
	return text, RotateToken{r, hash}, nil
}

// Bare returns the command of the domain in one of this package, and what to store before it: the id of a hash, and a function
// that makes the hash. The function is nil where there is nothing to store.
func Bare(c domain.Command) (bare domain.Command, id string, hash func() (string, error)) {
	made := func(hash string) func() (string, error) { return func() (string, error) { return hash, nil } }
	switch c := c.(type) {
	case domain.IfMatch:
		inner, id, hash := Bare(c.Change)
		c.Change = inner.(domain.Change) // the command inside changes what its wrapper changes
		return c, id, hash
	case AddUser:
		return c.AddUser, c.User.Credential, func() (string, error) { return HashPassword(c.Password) }
	case SetPassword:
		return c.SetPassword, c.Credential, func() (string, error) { return HashPassword(c.Password) }
	case AddToken:
		return c.AddToken, c.Token.Credential, made(c.Hash)
	case RotateToken:
		return c.RotateToken, c.Credential, made(c.Hash)
	}
	return c, "", nil
}
