package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/identity"
	"ledge/store/secrets"
)

// identities are the users and tokens: the folded state, and the changes of it. A change writes the hash first, then the event
// that names it. The old hash is removed [keepRetired] later. So a crash never leaves a user without the password that the log names,
// nor does a backup that reads the log and then the secrets.
type identities struct {
	log     submitter
	view    func() (domain.View, func())
	secrets *secrets.File
	dir     string // data folder, with the file adminPasswordFile
	now     func() time.Time
	uses    *tokenUses

	// changed is told when somebody has lost or changed what it may do; nil where nobody has to know.
	changed func()

	changing sync.Mutex // so that each change sees the hash that it replaces
	retired  []retired  // oldest first; the next start removes those that are left
}

// keepRetired is how long a hash is kept that no user and no token names any more.
const keepRetired = time.Minute

// retired is a hash that no user and no token names any more.
type retired struct {
	id string
	at time.Time
}

// retire has a hash removed later. The caller holds the lock.
func (i *identities) retire(id string) {
	if id != "" {
		i.retired = append(i.retired, retired{id, i.now()})
	}
}

// removeRetired removes the hashes that were retired before a time.
func (i *identities) removeRetired(before time.Time) error {
	i.changing.Lock()
	defer i.changing.Unlock()
	old := map[string]bool{}
	for len(i.retired) > 0 && i.retired[0].at.Before(before) {
		old[i.retired[0].id] = true
		i.retired = i.retired[1:]
	}
	if len(old) == 0 {
		return nil
	}
	return i.secrets.RemoveCredentials(old)
}

// removeRetiredInTime removes the hashes that are retired, until done.
func (i *identities) removeRetiredInTime(done <-chan struct{}, logger *slog.Logger) {
	tick := time.NewTicker(keepRetired)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if err := i.removeRetired(i.now().Add(-keepRetired)); err != nil {
			logger.Warn("old hashes of passwords stay in the secret store until the next start", "error", err)
		}
	}
}

// User returns the user of a name.
func (i *identities) User(name string) (u domain.User, ok bool) {
	v, release := i.view()
	defer release()
	return v.State.Users.Get(name)
}

// Token returns the token of a name.
func (i *identities) Token(name string) (t domain.Token, ok bool) {
	v, release := i.view()
	defer release()
	return v.State.Tokens.Get(name)
}

// Users returns all users.
func (i *identities) Users() ([]domain.User, error) {
	v, release := i.view()
	defer release()
	list, _, err := v.Lists.Users(domain.Page{Limit: -1})
	return list, err
}

// Tokens returns all tokens.
func (i *identities) Tokens() ([]domain.Token, error) {
	v, release := i.view()
	defer release()
	list, _, err := v.Lists.Tokens(domain.Page{Limit: -1})
	return list, err
}

// LastUsed returns when a token was last used, in milliseconds since the Unix epoch; 0 for never.
func (i *identities) LastUsed(token string) int64 { return i.uses.Last(token) }

// AddUser adds a user with a password.
func (i *identities) AddUser(ctx context.Context, actor, name string, role domain.Role, password string, mustChange bool) error {
	hash, err := identity.HashPassword(password)
	if err != nil {
		return err
	}
	at := i.now().UnixMilli()
	u := domain.User{Name: name, Role: role, MustChange: mustChange, Created: at, Modified: at}
	return i.withHash(ctx, actor, hash, "", func(id string) domain.Command { u.Credential = id; return domain.AddUser{User: u} })
}

// SetRole gives a user another role.
func (i *identities) SetRole(ctx context.Context, actor, name string, role domain.Role) error {
	defer i.tell()
	return i.submit(ctx, actor, domain.ChangeUser{Name: name, Role: role, At: i.now().UnixMilli()})
}

// SetPassword gives a user another password.
func (i *identities) SetPassword(ctx context.Context, actor, name, password string) error {
	hash, err := identity.HashPassword(password)
	if err != nil {
		return err
	}
	i.changing.Lock()
	defer i.changing.Unlock()
	old, ok := i.User(name)
	if !ok {
		return domain.Errorf(domain.NotFound, "user %q does not exist; add it first or correct the name", name)
	}
	defer i.tell()
	at := i.now().UnixMilli()
	if err := i.replace(ctx, actor, hash, old.Credential, func(id string) domain.Command {
		return domain.SetPassword{Name: name, Credential: id, At: at}
	}); err != nil {
		return err
	}
	return i.forgetAdminPassword(name)
}

// RemoveUser removes a user.
func (i *identities) RemoveUser(ctx context.Context, actor, name string) error {
	i.changing.Lock()
	defer i.changing.Unlock()
	defer i.tell()
	old, _ := i.User(name)
	if err := i.submit(ctx, actor, domain.RemoveUser{Name: name}); err != nil {
		return err
	}
	i.retire(old.Credential)
	return i.forgetAdminPassword(name)
}

// AddToken adds a token and returns its text, which is nowhere else. A token that is a client certificate has none.
func (i *identities) AddToken(ctx context.Context, actor string, t domain.Token) (text string, err error) {
	t.Created = i.now().UnixMilli()
	if t.Certificate {
		return "", i.submit(ctx, actor, domain.AddToken{Token: t})
	}
	text, hash := identity.NewToken(t.Name)
	err = i.withHash(ctx, actor, hash, "", func(id string) domain.Command { t.Credential = id; return domain.AddToken{Token: t} })
	if err != nil {
		return "", err
	}
	return text, nil
}

// RotateToken gives a token another secret and returns its text, which is nowhere else. The old one stays valid for the overlap.
func (i *identities) RotateToken(ctx context.Context, actor, name string, overlap time.Duration) (text string, err error) {
	if overlap < 0 || overlap > maxLifetime {
		return "", domain.Errorf(domain.Invalid, "overlap: %v; give a time from 0 to 36500d", overlap)
	}
	i.changing.Lock()
	defer i.changing.Unlock()
	old, _ := i.Token(name)
	defer i.tell()
	text, hash := identity.NewToken(name)
	at := i.now().UnixMilli()
	c := domain.RotateToken{Name: name, At: at}
	ended := old.Credential
	if overlap > 0 {
		c.OldUntil, ended = at+max(overlap.Milliseconds(), 1), ""
	}
	err = i.replace(ctx, actor, hash, ended, func(id string) domain.Command { c.Credential = id; return c })
	if err != nil {
		return "", err
	}
	i.retire(old.Old)
	return text, nil
}

// RemoveToken revokes a token.
func (i *identities) RemoveToken(ctx context.Context, actor, name string) error {
	i.changing.Lock()
	defer i.changing.Unlock()
	defer i.tell()
	old, _ := i.Token(name)
	if err := i.submit(ctx, actor, domain.RemoveToken{Name: name}); err != nil {
		return err
	}
	i.retire(old.Credential)
	i.retire(old.Old)
	return nil
}

// tell says that what somebody may do was changed, or may have been.
func (i *identities) tell() {
	if i.changed != nil {
		i.changed()
	}
}

// withHash is replace for who does not hold the lock.
func (i *identities) withHash(ctx context.Context, actor, hash, old string, command func(id string) domain.Command) error {
	i.changing.Lock()
	defer i.changing.Unlock()
	return i.replace(ctx, actor, hash, old, command)
}

// replace stores a hash, records the command that names it, and retires the old hash. The caller holds the lock.
func (i *identities) replace(ctx context.Context, actor, hash, old string, command func(id string) domain.Command) error {
	id := uuid.NewString()
	if err := i.secrets.PutCredential(id, hash); err != nil {
		return err
	}
	err := i.submit(ctx, actor, command(id))
	if _, refused := errors.AsType[*domain.Error](err); refused && !domain.InDoubt(err) {
		return errors.Join(err, i.secrets.RemoveCredentials(map[string]bool{id: true}))
	}
	if err == nil {
		i.retire(old)
	}
	return err // in doubt, the event may be on record: the next start removes the hash if it is not
}

func (i *identities) submit(ctx context.Context, actor string, c domain.Command) error {
	stamp := domain.Stamp{EventID: uuid.NewString(), At: i.now(), Actor: actor, By: handlers.Sender(ctx), Origin: "internal"}
	outcomes, err := i.log.Submit(ctx, domain.Request{Stamp: stamp, Command: c})
	if err != nil {
		return err
	}
	return outcomes[0].Err
}

// sweep removes the hashes that no user and no token names, and those of rotated secrets that are not valid any more.
func (i *identities) sweep() error {
	users, err := i.Users()
	if err != nil {
		return err
	}
	tokens, err := i.Tokens()
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, u := range users {
		named[u.Credential] = true
	}
	for _, t := range tokens {
		for _, id := range t.Proofs() {
			named[id.Credential] = id.Until == 0 || id.Credential == t.Credential || i.now().UnixMilli() < id.Until
		}
	}
	return i.secrets.KeepCredentials(named)
}
