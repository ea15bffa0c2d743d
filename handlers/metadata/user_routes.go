package metadata

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/entities"
	"ledge/handlers/identity"
)

// Identities records changes of users and tokens, with the hashes that they name ([identity.Bare]).
type Identities interface {
	handlers.Submitter
	// LastUsed is when a token was last used, in milliseconds since the Unix epoch; 0 for never.
	LastUsed(token string) int64
}

// The bounds of one request with users or tokens. The hash of a password takes some milliseconds and 19 MiB.
const (
	mostIdentities = 100
	identityBytes  = 1 << 20
)

var (
	userKind = entities.Kind[domain.User]{List: domain.ListUsers, Table: func(s domain.State) domain.Table[domain.User] {
		return s.Users
	}}
	tokenKind = entities.Kind[domain.Token]{List: domain.ListTokens, Table: func(s domain.State) domain.Table[domain.Token] {
		return s.Tokens
	}}
)

// users serves users and tokens. Its requests are smaller than those of the service.
type users struct {
	*handlers.API
	state      entities.Reader
	identities Identities
}

// newUsers returns users and tokens, whose clients need a login in open mode too.
func newUsers(s service, identities Identities) users {
	api := *s.API
	api.NeedsLogin = true
	api.BatchElements, api.BodyBytes = min(api.BatchElements, mostIdentities), min(api.BodyBytes, identityBytes)
	return users{&api, s.state, identities}
}

func (u users) userRoutes() []handlers.Route {
	list := handlers.List(u.API, u.state, userKind, handlers.Unfiltered, "users", userShapeOf)
	show := func(e handlers.Envelope, d domain.User) any { return &userAnswer{e, userShapeOf(d)} }
	get := handlers.Get(u.API, u.state, "user", "name", userKind, show)
	remove := handlers.Remove(u.API, u.identities, "name", func(name string) domain.Command { return domain.RemoveUser{Name: name} })
	return []handlers.Route{
		{Method: "POST", Path: "/user", Right: domain.MayAdminister, Handle: handlers.Batch(u.API, u.identities, "user", u.add)},
		{Method: "PATCH", Path: "/user", Right: domain.MayAdminister, Handle: handlers.Batch(u.API, u.identities, "user", u.update)},
		{Method: "GET", Path: "/user/all", Right: domain.MayAdminister, Handle: list},
		{Method: "GET", Path: "/user/name/:name", Right: domain.MayAdminister, Handle: get},
		{Method: "DELETE", Path: "/user/name/:name", Right: domain.MayAdminister, Handle: remove},
		{Method: "GET", Path: "/user/me", Right: handlers.AnyRole, Handle: u.me},
		{Method: "PUT", Path: "/user/me/password", Right: handlers.AnyRole, Handle: u.changeOwnPassword},
	}
}

func (u users) tokenRoutes() []handlers.Route {
	list := handlers.List(u.API, u.state, tokenKind, handlers.Unfiltered, "tokens", u.tokenShapeOf)
	show := func(e handlers.Envelope, d domain.Token) any { return &tokenAnswer{e, u.tokenShapeOf(d)} }
	get := handlers.Get(u.API, u.state, "token", "name", tokenKind, show)
	remove := handlers.Remove(u.API, u.identities, "name", func(name string) domain.Command { return domain.RemoveToken{Name: name} })
	return []handlers.Route{
		{Method: "POST", Path: "/token", Right: domain.MayAdminister, Handle: handlers.Batch(u.API, u.identities, "token", u.addToken)},
		{Method: "GET", Path: "/token/all", Right: domain.MayAdminister, Handle: list},
		{Method: "GET", Path: "/token/name/:name", Right: domain.MayAdminister, Handle: get},
		{Method: "DELETE", Path: "/token/name/:name", Right: domain.MayAdminister, Handle: remove},
		{Method: "POST", Path: "/token/name/:name/rotate", Right: domain.MayAdminister, Handle: u.rotate},
	}
}

func (u users) add(e *addUser, at int64) handlers.Order {
	one := domain.User{Name: e.User.Name, Role: e.User.Role, Credential: u.NewID(), MustChange: true, Created: at, Modified: at}
	problems := append(one.Check(), wrongPassword("password", e.User.Password)...)
	command := identity.AddUser{AddUser: domain.AddUser{User: one}, Password: e.User.Password}
	return handlers.Order{Command: command, Problems: problems, AddsPart: true}
}

// wrongPassword notes why a password cannot be a new one. It does not say the password.
func wrongPassword(path, password string) (p domain.Problems) {
	if e, ok := errors.AsType[*domain.Error](identity.CheckPassword(password)); ok {
		for _, one := range e.Problems {
			p.Add(path, "%s", one.Says())
		}
	}
	return p
}

// update makes one command of an element: what has two could be half done after a crash.
func (u users) update(e *updateUser, at int64) (o handlers.Order) {
	name, role, password := "", e.User.Role, e.User.Password
	if e.User.Name != nil {
		name = *e.User.Name
	}
	o.Problems = domain.CheckName("name", name)
	switch {
	case role != nil && password != nil:
		o.Problems.Add("password", "is given beside a role, and an element changes one of them; send two elements")
	case role != nil:
		o.Problems = domain.User{Name: name, Role: *role, Credential: u.NewID()}.Check()
		o.Command = domain.ChangeUser{Name: name, Role: *role, At: at}
	case password != nil:
		o.Problems = append(o.Problems, wrongPassword("password", *password)...)
		c := domain.SetPassword{Name: name, Credential: u.NewID(), MustChange: true, At: at}
		o.Command = identity.SetPassword{SetPassword: c, Password: *password}
	default:
		o.Problems.Add("role", "is missing, and password too; give one of them")
	}
	return o
}

// self returns the name of the user that sends a request. Others have no password.
func self(c *gin.Context) (string, error) {
	actor := access.Actor(c.Request)
	name, ok := strings.CutPrefix(actor, "user:")
	if !ok {
		return "", domain.Errorf(domain.Forbidden,
			"%s is not a user, so it has no password here; send Authorization: Bearer with a token of POST /api/%s/login", actor, handlers.V2)
	}
	return name, nil
}

func (u users) me(c *gin.Context) {
	var one domain.User
	name, err := self(c)
	if err == nil {
		one, err = u.user(name)
	}
	if err != nil {
		u.Fail(c, err)
		return
	}
	u.Reply(c, http.StatusOK, &userAnswer{u.Envelope(http.StatusOK), userShapeOf(one)})
}

func (u users) user(name string) (domain.User, error) {
	view, done := u.state()
	defer done()
	one, ok := view.State.Users.Get(name)
	if !ok {
		return one, domain.Errorf(domain.Forbidden, "user %q was removed; log in as another user", name)
	}
	return one, nil
}

// changeOwnPassword asks for the old password within the limits of logins. So a session that somebody has stolen is not enough.
func (u users) changeOwnPassword(c *gin.Context) {
	name, err := self(c)
	var asked *changePassword
	if err == nil {
		asked, err = handlers.ReadObject[changePassword](u.API, c)
	}
	if err == nil {
		err = asked.check()
	}
	if err == nil {
		err = u.checkOld(c, name, asked.Old)
	}
	if err == nil {
		change := domain.SetPassword{Name: name, Credential: u.NewID(), At: u.Now().UnixMilli()}
		_, err = u.Submit(c, u.identities, identity.SetPassword{SetPassword: change, Password: asked.New}, 0)
	}
	if err != nil {
		u.Fail(c, err)
		return
	}
	answer := u.Envelope(http.StatusOK)
	answer.RequestID, answer.Message = asked.RequestID, "all logins and sessions of the user have ended; log in with the new password"
	u.Reply(c, http.StatusOK, answer)
}

func (r *changePassword) check() error {
	var p domain.Problems
	if r.Old == "" {
		p.Add("oldPassword", "is missing or empty; give the password that you have now")
	}
	p = append(p, wrongPassword("newPassword", r.New)...)
	if len(p) == 0 && r.New == r.Old {
		p.Add("newPassword", "is the old password; give another one")
	}
	return p.Err()
}

func (u users) checkOld(c *gin.Context, name, password string) error {
	if u.Access == nil {
		return domain.Errorf(domain.Unsupported, "there are no logins here")
	}
	_, err := u.Access.Password(c.Request.Context(), name, password, c.Request.RemoteAddr)
	if err != nil && domain.CodeOf(err) == domain.Unauthenticated {
		return domain.FieldErrorf("oldPassword", "is wrong; give the password that you have now")
	}
	return err
}

func (u users) addToken(e *addToken, at int64) handlers.Order {
	t := domain.Token{
		Name: e.Token.Name, Role: e.Token.Role, Devices: e.Token.Devices, Certificate: e.Token.Certificate,
		Expires: e.Token.Expires, Created: at,
	}
	id := u.NewID()
	text, command := identity.IssueToken(t, id)
	if !t.Certificate {
		t.Credential = id
	}
	return handlers.Order{Command: command, Problems: t.Check(), AddsPart: true, Token: text}
}

// defaultOverlap is that of `ledge token rotate`.
const defaultOverlap = 24 * time.Hour

func (u users) rotate(c *gin.Context) {
	asked, err := handlers.ReadObject[rotateToken](u.API, c)
	overlap, text := defaultOverlap, ""
	if err == nil && asked.Overlap != nil {
		overlap, err = parseOverlap(*asked.Overlap)
	}
	var command domain.Command
	if err == nil {
		text, command, err = identity.ReplaceToken(c.Param("name"), u.NewID(), overlap, u.Now().UnixMilli())
	}
	if err == nil {
		_, err = u.Submit(c, u.identities, command, 0)
	}
	if err != nil {
		u.Fail(c, err)
		return
	}
	answer := secretAnswer{u.Envelope(http.StatusOK), text}
	answer.RequestID = asked.RequestID
	u.Reply(c, http.StatusOK, answer)
}

func parseOverlap(text string) (time.Duration, error) {
	d, ok := domain.ParseDuration(text)
	if !ok {
		return 0, domain.FieldErrorf("overlap", "%.80q is not a duration; write it as 24h, or as P7D; 0s ends the old secret at once", text)
	}
	return d, nil
}

// tokenShapeOf shows a token as it is now.
func (u users) tokenShapeOf(t domain.Token) tokenShape {
	if t.OldUntil <= u.Now().UnixMilli() {
		t.OldUntil = 0
	}
	return tokenShape{t.Created, t.Name, t.Role, t.Devices, t.Certificate, t.Expires, u.identities.LastUsed(t.Name), t.OldUntil}
}
