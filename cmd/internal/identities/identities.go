// Package identities changes the users and tokens of a node, with their hashes in the secret store. It makes the first user, and knows when
// tokens were last used.
package identities

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/loop"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/identity"
	"ledge/store/secrets"
)

// Identities are the users and tokens: the folded state, and the changes of it. A change writes the hash first, then the event
// that names it. The old hash is removed [keepRetired] later. So a crash never leaves a user without the password that the log names,
// nor does a backup that reads the log and then the secrets.
type Identities struct {
	log     handlers.Submitter
	View    func() (domain.View, func())
	Secrets *secrets.File
	dir     string // data folder, with the file AdminPasswordFile
	now     func() time.Time
	logger  *slog.Logger
	Uses    *tokenUses

	// OnChange, if it is not nil, is called after each change of users and tokens.
	OnChange func()

	changing sync.Mutex // so that each change sees the hash that it replaces
	retired  []retired  // oldest first; the next start removes those that are left
}

// New returns the users and tokens of an open node whose data folder is dir. Their hashes are in the secret store file.
func New(d *node.Node, dir string, file *secrets.File, logger *slog.Logger) *Identities {
	return &Identities{log: d.Changes.Appender, View: d.Changes.View, Secrets: file, dir: dir, now: d.Now, logger: logger, Uses: openTokenUses(dir, logger)}
}

// keepRetired is how long a hash is kept that no user and no token names any more.
const keepRetired = time.Minute

// retired is a hash that no user and no token names any more.
type retired struct {
	id string
	at time.Time
}

// retire has a hash removed later. The caller holds the lock.
func (i *Identities) retire(id string) {
	if id != "" {
		i.retired = append(i.retired, retired{id, i.now()})
	}
}

// removeRetired removes the hashes that were retired before a time.
func (i *Identities) removeRetired(before time.Time) error {
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
	return i.Secrets.RemoveCredentials(old)
}

// RemoveRetiredInTime removes the hashes that are retired, until ctx ends.
func (i *Identities) RemoveRetiredInTime(ctx context.Context) error {
	return loop.Every(ctx, keepRetired, func(context.Context) {
		if err := i.removeRetired(i.now().Add(-keepRetired)); err != nil {
			i.logger.Warn("old hashes of passwords stay in the secret store until the next start", "error", err)
		}
	})
}

// User returns the user of a name.
func (i *Identities) User(name string) (u domain.User, ok bool) {
	v, release := i.View()
	defer release()
	return v.State.Users.Get(name)
}

// Token returns the token of a name.
func (i *Identities) Token(name string) (t domain.Token, ok bool) {
	v, release := i.View()
	defer release()
	return v.State.Tokens.Get(name)
}

// Users returns all users.
func (i *Identities) Users() ([]domain.User, error) {
	v, release := i.View()
	defer release()
	list, _, err := v.Lists.Users(domain.Page{Limit: -1})
	return list, err
}

// Tokens returns all tokens.
func (i *Identities) Tokens() ([]domain.Token, error) {
	v, release := i.View()
	defer release()
	list, _, err := v.Lists.Tokens(domain.Page{Limit: -1})
	return list, err
}

// LastUsed returns when a token was last used, in milliseconds since the Unix epoch; 0 for never.
func (i *Identities) LastUsed(token string) int64 { return i.Uses.Last(token) }

// AddUser adds a user with a password.
func (i *Identities) AddUser(ctx context.Context, actor, name string, role domain.Role, password string, mustChange bool) error {
	at := i.now().UnixMilli()
	u := domain.User{Name: name, Role: role, Credential: uuid.NewString(), MustChange: mustChange, Created: at, Modified: at}
	return i.submit(ctx, actor, identity.AddUser{AddUser: domain.AddUser{User: u}, Password: password})
}

// SetRole gives a user another role.
func (i *Identities) SetRole(ctx context.Context, actor, name string, role domain.Role) error {
	return i.submit(ctx, actor, domain.ChangeUser{Name: name, Role: role, At: i.now().UnixMilli()})
}

// SetPassword gives a user another password. With mustChange the console asks for another one at the next login.
func (i *Identities) SetPassword(ctx context.Context, actor, name, password string, mustChange bool) error {
	c := domain.SetPassword{Name: name, Credential: uuid.NewString(), MustChange: mustChange, At: i.now().UnixMilli()}
	return i.submit(ctx, actor, identity.SetPassword{SetPassword: c, Password: password})
}

// RemoveUser removes a user.
func (i *Identities) RemoveUser(ctx context.Context, actor, name string) error {
	return i.submit(ctx, actor, domain.RemoveUser{Name: name})
}

// AddToken adds a token and returns its text, which is nowhere else. A token that is a client certificate has none.
func (i *Identities) AddToken(ctx context.Context, actor string, t domain.Token) (text string, err error) {
	t.Created = i.now().UnixMilli()
	text, c := identity.IssueToken(t, uuid.NewString())
	if err := i.submit(ctx, actor, c); err != nil {
		return "", err
	}
	return text, nil
}

// RotateToken gives a token another secret and returns its text, which is nowhere else. The old one stays valid for the overlap.
func (i *Identities) RotateToken(ctx context.Context, actor, name string, overlap time.Duration) (text string, err error) {
	text, c, err := identity.ReplaceToken(name, uuid.NewString(), overlap, i.now().UnixMilli())
	if err == nil {
		err = i.submit(ctx, actor, c)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// RemoveToken revokes a token.
func (i *Identities) RemoveToken(ctx context.Context, actor, name string) error {
	return i.submit(ctx, actor, domain.RemoveToken{Name: name})
}

func (i *Identities) submit(ctx context.Context, actor string, c domain.Command) error {
	if err := access.StillLoggedIn(ctx); err != nil {
		return err
	}
	stamp := domain.Stamp{EventID: uuid.NewString(), At: i.now(), Actor: actor, By: access.Sender(ctx), Origin: access.Origin(ctx)}
	outcomes, err := i.Submit(ctx, domain.Request{Stamp: stamp, Command: c})
	if err != nil {
		return err
	}
	return outcomes[0].Err
}

// Submit implements [handlers.Submitter] for the commands of users and tokens. It records one after the other. A hash takes a moment, so
// changes of others come in between.
func (i *Identities) Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error) {
	if i.OnChange != nil {
		defer i.OnChange()
	}
	outcomes := make([]domain.Outcome, len(reqs))
	for n, r := range reqs {
		o, err := i.change(ctx, r)
		if err != nil && n == 0 {
			return nil, err
		}
		if outcomes[n] = o; err != nil { // those before are on record
			outcomes[n].Err = err
		}
	}
	return outcomes, nil
}

// change records a command, after the hash that it names. It retires the hashes that nothing names any more.
func (i *Identities) change(ctx context.Context, r domain.Request) (o domain.Outcome, err error) {
	if err := ctx.Err(); err != nil {
		return o, err
	}
	bare, id, makeHash := identity.Bare(r.Command)
	r.Command = bare
	hash := ""
	if makeHash != nil {
		if hash, err = makeHash(); err != nil {
			return domain.Outcome{Err: err}, nil
		}
	}
	i.changing.Lock()
	defer i.changing.Unlock()
	before := proofsOf(i, bare)
	if makeHash != nil {
		if err := i.Secrets.PutCredential(id, hash); err != nil {
			return o, err
		}
	}
	outcomes, err := i.log.Submit(ctx, r)
	if err == nil {
		o = outcomes[0]
	}
	failed := errors.Join(err, o.Err)
	if _, refused := errors.AsType[*domain.Error](failed); refused && !domain.InDoubt(failed) && makeHash != nil {
		return o, errors.Join(err, i.Secrets.RemoveCredentials(map[string]bool{id: true}))
	}
	if failed != nil {
		return o, err // in doubt, the event may be on record: the next start removes the hash if it is not
	}
	now := proofsOf(i, bare)
	for _, one := range before {
		if !slices.Contains(now, one) {
			i.retire(one)
		}
	}
	switch e := o.Event.(type) {
	case domain.UserPassword:
		o.Err = i.forgetAdminPassword(e.Name)
	case domain.UserRemoved:
		o.Err = i.forgetAdminPassword(e.User.Name)
	}
	return o, nil
}

// proofsOf are the ids of the hashes of the user or the token that a command changes.
func proofsOf(i *Identities, c domain.Command) (ids []string) {
	if match, ok := c.(domain.IfMatch); ok {
		c = match.Change
	}
	user := func(name string) {
		u, _ := i.User(name)
		ids = append(ids, u.Credential)
	}
	token := func(name string) {
		t, _ := i.Token(name)
		ids = append(ids, t.Credential, t.Old)
	}
	switch c := c.(type) {
	case domain.SetPassword:
		user(c.Name)
	case domain.RemoveUser:
		user(c.Name)
	case domain.RotateToken:
		token(c.Name)
	case domain.RemoveToken:
		token(c.Name)
	}
	return ids
}

// Sweep removes the hashes that no user and no token names, and those of rotated secrets that are not valid any more.
func (i *Identities) Sweep() error {
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
	return i.Secrets.KeepCredentials(named)
}

// Do answers a request of an actor.
func (i *Identities) Do(ctx context.Context, actor string, r admin.Request) (a admin.Answer, err error) {
	switch r.Do {
	case "user add":
		err = i.AddUser(ctx, actor, r.Name, r.Role, r.Password, false)
	case "user role":
		err = i.SetRole(ctx, actor, r.Name, r.Role)
	case "user passwd":
		err = i.SetPassword(ctx, actor, r.Name, r.Password, false)
	case "user remove":
		err = i.RemoveUser(ctx, actor, r.Name)
	case "user list":
		a.Users, err = listUsers(i)
	case "token create":
		if r.Token == nil {
			return a, domain.FieldErrorf("token", "is missing; give it")
		}
		a.Token, err = i.AddToken(ctx, actor, *r.Token)
	case "token rotate":
		a.Token, err = i.RotateToken(ctx, actor, r.Name, r.Overlap)
	case "token revoke":
		err = i.RemoveToken(ctx, actor, r.Name)
	case "token list":
		a.Tokens, err = listTokens(i)
	default:
		err = domain.Errorf(domain.Unsupported, "do: %q is unknown; use the ledge command of the server's version", r.Do)
	}
	return a, err
}

func listUsers(i *Identities) (list []admin.User, err error) {
	users, err := i.Users()
	for _, u := range users {
		list = append(list, admin.User{Name: u.Name, Role: u.Role, MustChange: u.MustChange, Created: u.Created, Modified: u.Modified})
	}
	return list, err
}

func listTokens(i *Identities) (list []admin.Token, err error) {
	tokens, err := i.Tokens()
	for _, t := range tokens {
		if t.OldUntil <= i.now().UnixMilli() {
			t.OldUntil = 0
		}
		list = append(list, admin.Token{Name: t.Name, Role: t.Role, Devices: t.Devices, Certificate: t.Certificate, Created: t.Created, Expires: t.Expires, LastUsed: i.Uses.Last(t.Name), OldUntil: t.OldUntil})
	}
	return list, err
}
