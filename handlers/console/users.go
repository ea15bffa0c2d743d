package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// Tokens lists, creates and revokes the tokens of programs; actor is the user that asks. Errors are domain Errors.
type Tokens interface {
	Tokens() ([]domain.Token, error)
	// LastUsed is when a token was last used, in milliseconds since the Unix epoch; 0 for never.
	LastUsed(name string) int64
	// AddToken returns the text of the token, which can be read nowhere else; "" for a client certificate.
	AddToken(ctx context.Context, actor string, t domain.Token) (text string, err error)
	// RotateToken gives a token another secret, and returns it. The old one stays valid for the overlap.
	RotateToken(ctx context.Context, actor, name string, overlap time.Duration) (text string, err error)
	RemoveToken(ctx context.Context, actor, name string) error
}

// shownOnce is the key in the session of a new token's text, until the next page shows it.
const shownOnce = "new-token"

// mostAccounts bounds the users, and the tokens, that the page lists.
const mostAccounts = 500

const (
	mostExpiryDays = 36_500
	dayMS          = 24 * 60 * 60 * 1000
)

func (s *Console) userRoutes() []route {
	return []route{
		{"GET", "/users", domain.MayAdminister, s.share(s.users)},
		{"POST", "/users", domain.MayAdminister, s.addUser},
		{"GET", "/users/:name", domain.MayAdminister, s.showUser},
		{"POST", "/users/:name/role", domain.MayAdminister, s.changeRole},
		{"POST", "/users/:name/password", domain.MayAdminister, s.resetPassword},
		{"POST", "/users/:name/remove", domain.MayAdminister, s.removeUser},
		{"POST", "/tokens", domain.MayAdminister, s.addToken},
		{"POST", "/tokens/:name/rotate", domain.MayAdminister, s.rotateToken},
		{"POST", "/tokens/:name/revoke", domain.MayAdminister, s.revokeToken},
	}
}

type usersData struct {
	Users  []domain.User
	Tokens []tokenRow
	// MoreUsers and MoreTokens are how many are not listed.
	MoreUsers, MoreTokens int
	NewToken              string // the text of a token that was created by the request before
	Roles                 []option
	AddUser               userForm
	AddToken              tokenForm
}

// tokenRow is a token in the list.
type tokenRow struct {
	domain.Token
	LastUsed int64
	Expired  bool
	Overlaps bool // the secret before the last rotation is still valid
}

// userForm is a new user, with the errors.
type userForm struct {
	Name, Role string
	MustChange bool
	Open       bool
	Wrong      problems
}

// tokenForm is a new token, with the errors.
type tokenForm struct {
	Name, Role, Devices, Days string
	Certificate               bool
	Open                      bool
	Wrong                     problems
}

func actorOf(c *gin.Context) string {
	u, _ := user(c)
	return "user:" + u.Name
}

func (s *Console) users(c *gin.Context) {
	ctx := c.Request.Context()
	var d usersData
	d.AddUser.Open, d.AddToken.Open = c.Query("add") == "user", c.Query("add") == "token"
	if !isLive(c) {
		d.NewToken = s.sessions.PopString(ctx, shownOnce)
	}
	if d.NewToken != "" {
		if _, _, err := s.sessions.Commit(ctx); err != nil {
			s.fail(c, err)
			return
		}
	}
	s.showUsers(c, http.StatusOK, "", d)
}

// showUsers shows the lists. d has the forms with their input.
func (s *Console) showUsers(c *gin.Context, status int, message string, d usersData) {
	var err error
	if d.Users, err = s.Users.Users(); err != nil {
		s.fail(c, err)
		return
	}
	tokens, err := s.Tokens.Tokens()
	if err != nil {
		s.fail(c, err)
		return
	}
	d.MoreUsers, d.MoreTokens = max(0, len(d.Users)-mostAccounts), max(0, len(tokens)-mostAccounts)
	d.Users = d.Users[:len(d.Users)-d.MoreUsers]
	now := s.now().UnixMilli()
	for _, t := range tokens[:len(tokens)-d.MoreTokens] {
		t.Devices = cutRow(&t.Devices)
		d.Tokens = append(d.Tokens, tokenRow{t, s.Tokens.LastUsed(t.Name), t.Expires != 0 && t.Expires <= now, t.OldUntil > now})
	}
	d.Roles = roleOptions()
	if d.AddUser.Role == "" {
		d.AddUser.Role, d.AddUser.MustChange = string(domain.Viewer), true
	}
	if d.AddToken.Role == "" {
		d.AddToken.Role, d.AddToken.Days = string(domain.Poster), "365"
	}
	s.show(c, status, "users", Page{Title: "Users and tokens", Live: "users&tokens", Message: message, Data: d})
}

func (s *Console) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// roleOptions are the roles with what each may do.
func roleOptions() []option {
	says := map[domain.Role]string{
		domain.Viewer: "reads", domain.Poster: "posts values only", domain.Operator: "reads, posts and changes",
		domain.Auditor: "reads, also the ledger", domain.Admin: "everything, also users and tokens",
	}
	var all []option
	for _, r := range domain.Roles() {
		all = append(all, option{string(r), string(r) + ": " + says[r]})
	}
	return all
}

func (s *Console) addUser(c *gin.Context) {
	f := userForm{Name: strings.TrimSpace(c.PostForm("name")), Role: c.PostForm("role"), MustChange: c.PostForm("mustChange") != "", Open: true}
	password := c.PostForm("new-password")
	err := s.Users.AddUser(c.Request.Context(), actorOf(c), f.Name, domain.Role(f.Role), password, f.MustChange)
	if err == nil {
		s.done(c, "/users", "The user %s is added.", f.Name)
		return
	}
	message := s.refused(c, err)
	if message == "" {
		return
	}
	f.Wrong = problemsIn(err)
	s.showUsers(c, http.StatusUnprocessableEntity, message, usersData{AddUser: f})
}

// refused returns the message of an error that the user can correct. It answers all other errors itself and returns "".
func (s *Console) refused(c *gin.Context, err error) string {
	switch domain.CodeOf(err) {
	case domain.Invalid, domain.Conflict, domain.NotFound, domain.TooLarge, domain.Locked, domain.TooMany, domain.Unavailable, domain.Full:
		return err.Error()
	}
	s.fail(c, err)
	return ""
}

// problemsIn finds the field in a message of the domain, which begins with its name, such as "name: is empty".
func problemsIn(err error) (list problems) {
	for part := range strings.SplitSeq(err.Error(), "; ") {
		field, cure, ok := strings.Cut(part, ": ")
		if ok && !strings.ContainsAny(field, " \"") {
			list = append(list, problem{Path: "form." + field, Cure: cure})
		}
	}
	return list
}

type userData struct {
	Of       domain.User
	Roles    []option
	Self     bool
	Password string // what is wrong with the new password
	Role     string // what is wrong with the new role
}

func (s *Console) showUser(c *gin.Context) { s.showOneUser(c, http.StatusOK, userData{}, "") }

func (s *Console) showOneUser(c *gin.Context, status int, d userData, message string) {
	u, ok := s.Users.User(c.Param("name"))
	if !ok {
		s.showError(c, http.StatusNotFound, fmt.Sprintf("There is no user %.80q. Choose one from the list of users.", c.Param("name")))
		return
	}
	d.Of, d.Roles, d.Self = u, roleOptions(), "user:"+u.Name == actorOf(c)
	s.show(c, status, "user", Page{Title: u.Name, Message: message, Data: d})
}

func userPath(name string) string { return "/users/" + url.PathEscape(name) }

func (s *Console) changeRole(c *gin.Context) {
	name, role := c.Param("name"), c.PostForm("role")
	if err := s.Users.SetRole(c.Request.Context(), actorOf(c), name, domain.Role(role)); err != nil {
		if message := s.refused(c, err); message != "" {
			s.showOneUser(c, http.StatusUnprocessableEntity, userData{Role: message}, message)
		}
		return
	}
	to := userPath(name)
	if name == strings.TrimPrefix(actorOf(c), "user:") && !domain.Role(role).May(domain.MayAdminister) {
		to = "/"
	}
	s.done(c, to, "The user %s has the role %s now.", name, role)
}

func (s *Console) resetPassword(c *gin.Context) {
	name, password := c.Param("name"), c.PostForm("new-password")
	mustChange := "user:"+name != actorOf(c)
	if err := s.Users.SetPassword(c.Request.Context(), actorOf(c), name, password, mustChange); err != nil {
		if message := s.refused(c, err); message != "" {
			s.showOneUser(c, http.StatusUnprocessableEntity, userData{Password: message}, message)
		}
		return
	}
	if u, ok := s.Users.User(name); ok && !mustChange {
		if err := s.begin(c, u); err != nil {
			s.fail(c, err)
			return
		}
	}
	s.done(c, userPath(name), "The password of %s is changed. All other sessions of %s have ended.", name, name)
}

func (s *Console) removeUser(c *gin.Context) {
	name := c.Param("name")
	if err := s.Users.RemoveUser(c.Request.Context(), actorOf(c), name); err != nil {
		if message := s.refused(c, err); message != "" {
			s.showOneUser(c, http.StatusUnprocessableEntity, userData{}, message)
		}
		return
	}
	s.done(c, "/users", "The user %s is removed.", name)
}

func (s *Console) addToken(c *gin.Context) {
	f := tokenForm{
		Name: strings.TrimSpace(c.PostForm("token-name")), Role: c.PostForm("token-role"), Devices: c.PostForm("devices"),
		Days: strings.TrimSpace(c.PostForm("days")), Certificate: c.PostForm("certificate") != "", Open: true,
	}
	t := domain.Token{Name: f.Name, Role: domain.Role(f.Role), Devices: words(f.Devices), Certificate: f.Certificate}
	message := ""
	if f.Days != "" {
		days, err := strconv.Atoi(f.Days)
		if err != nil || days < 1 || days > mostExpiryDays {
			f.Wrong = problems{{Path: "form.days", Cure: fmt.Sprintf("Give a whole number of days, from 1 to %d, or nothing.", mostExpiryDays)}}
		}
		t.Expires = s.now().UnixMilli() + int64(days)*dayMS
	}
	if len(f.Wrong) == 0 {
		text, err := s.Tokens.AddToken(c.Request.Context(), actorOf(c), t)
		if err == nil {
			s.sessions.Put(c.Request.Context(), shownOnce, text)
			s.done(c, "/users", "The token %s is created.", f.Name)
			return
		}
		if message = s.refused(c, err); message == "" {
			return
		}
		f.Wrong = problemsIn(err)
	}
	s.showUsers(c, http.StatusUnprocessableEntity, message, usersData{AddToken: f})
}

// words are the parts of a text between commas or spaces.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
}

// overlap is how long the old secret of a token that is rotated here stays valid.
const overlap = 24 * time.Hour

func (s *Console) rotateToken(c *gin.Context) {
	name := c.Param("name")
	text, err := s.Tokens.RotateToken(c.Request.Context(), actorOf(c), name, overlap)
	if err != nil {
		if message := s.refused(c, err); message != "" {
			s.showUsers(c, http.StatusUnprocessableEntity, message, usersData{})
		}
		return
	}
	s.sessions.Put(c.Request.Context(), shownOnce, text)
	s.done(c, "/users", "The token %s has a new secret. The old one stays valid for 24 hours.", name)
}

func (s *Console) revokeToken(c *gin.Context) {
	name := c.Param("name")
	if err := s.Tokens.RemoveToken(c.Request.Context(), actorOf(c), name); err != nil {
		if message := s.refused(c, err); message != "" {
			s.showUsers(c, http.StatusUnprocessableEntity, message, usersData{})
		}
		return
	}
	s.done(c, "/users", "The token %s is revoked. Programs that use it are refused from now on.", name)
}
