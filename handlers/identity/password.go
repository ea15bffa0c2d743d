package identity

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"

	"ledge/domain"
)

// parameters are those that OWASP gives for the least memory: two computations at once fit a small device.
var parameters = &argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32} // memory in KiB

// HashPassword returns the hash of a new password as an argon2id PHC string.
func HashPassword(password string) (string, error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	if err := computing.take(context.Background(), ""); err != nil {
		return "", err
	}
	defer computing.give()
	return argon2id.CreateHash(password, parameters)
}

// decoy returns a PHC string of random bytes, which is the hash of no password. To compare with it takes as long as with
// that of a user.
func decoy(p *argon2id.Params) string {
	random := make([]byte, p.SaltLength+p.KeyLength)
	rand.Read(random) // never fails
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.Memory, p.Iterations, p.Parallelism,
		text(random[:p.SaltLength]), text(random[p.SaltLength:]))
}

func errPassword() error {
	return domain.Errorf(domain.Unauthenticated, "the user name or the password is wrong")
}

// Password proves that a user is asking, from an address.
func (a *Authenticator) Password(ctx context.Context, name, password, address string) (domain.Identity, error) {
	u, err := a.user(ctx, name, password, clientOf(address))
	if err != nil {
		return domain.Identity{}, err
	}
	return u.Identity(), nil
}

// user returns the user with a name and a password.
func (a *Authenticator) user(ctx context.Context, name, password, client string) (domain.User, error) {
	if wait := a.passwords.wait(client, name, a.Now()); wait > 0 {
		return domain.User{}, a.slowDown(client, wait)
	}
	if len(password) > MaxPassword || password == "" {
		a.passwords.failed(client, name, a.Now())
		return domain.User{}, a.refuse(client, badPassword, errPassword())
	}
	if err := sleep(ctx, a.passwords.pause(client, name, a.Now())); err != nil {
		return domain.User{}, err
	}
	if err := a.turns.take(ctx, client); err != nil {
		if domain.CodeOf(err) == domain.TooMany {
			err = a.refuse(client, busy, err)
		}
		return domain.User{}, err
	}
	defer a.turns.give()
	// Others of this client may have failed since. So whoever sends many tries at once gets no more of them computed.
	if wait := a.passwords.wait(client, name, a.Now()); wait > 0 {
		return domain.User{}, a.slowDown(client, wait)
	}
	u, ok := a.compare(name, password)
	if !ok {
		a.passwords.failed(client, name, a.Now())
		return domain.User{}, a.refuse(client, badPassword, errPassword())
	}
	a.passwords.succeeded(client, name, a.Now())
	return u, nil
}

// compare returns the user, if there is one with the name and the password. It computes for every name.
func (a *Authenticator) compare(name, password string) (domain.User, bool) {
	u, known := a.Directory.User(name)
	hash, stored := "", false
	if known {
		hash, stored = a.Credentials.Credential(u.Credential)
	}
	if !stored {
		hash = a.decoy
	}
	match, params, err := argon2id.CheckHash(password, hash)
	if err != nil {
		a.Logger.Error("password hash is unreadable", "user", u.Name, "error", err)
		return domain.User{}, false
	}
	now, _ := a.Directory.User(name)
	if !match || !stored || now.Credential != u.Credential {
		return domain.User{}, false // also where the password was changed or the user removed meanwhile
	}
	if *params != *a.params {
		a.upgrade(u, password)
	}
	return now, true
}

// upgrade stores the hash of a password with the parameters of today.
func (a *Authenticator) upgrade(u domain.User, password string) {
	hash, err := argon2id.CreateHash(password, a.params)
	if err == nil {
		err = a.Credentials.PutCredential(u.Credential, hash)
	}
	if err != nil {
		a.Logger.Warn("password hash keeps its old parameters", "user", u.Name, "error", err)
	}
}

// sleep waits for a time, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
