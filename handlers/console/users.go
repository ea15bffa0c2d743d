package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
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

// userPages are the pages of users and tokens.
type userPages struct {
	*web.Site
	users  Users
	tokens Tokens
	open   bool // the REST services need no login
	state  entities.Reader
}

func (s userPages) Routes() []web.Route {
	return []web.Route{
		web.Get("/users", domain.MayAdminister, s.Share(s.listUsers)),
		web.Post("/users", domain.MayAdminister, s.addUser),
		web.Get("/users/:name", domain.MayAdminister, s.showUser),
		web.Post("/users/:name/role", domain.MayAdminister, s.changeRole),
		web.Post("/users/:name/password", domain.MayAdminister, s.resetPassword),
		web.Post("/users/:name/remove", domain.MayAdminister, s.removeUser),
		web.Post("/tokens", domain.MayAdminister, s.addToken),
		web.Post("/tokens/:name/rotate", domain.MayAdminister, s.rotateToken),
		web.Post("/tokens/:name/revoke", domain.MayAdminister, s.revokeToken),
	}
}

type usersData struct {
	Users  []domain.User
	Tokens []tokenRow
	// MoreUsers and MoreTokens are how many are not listed.
	MoreUsers, MoreTokens int
	// Open says that the REST services need no login, so that tokens restrict nothing.
	Open              bool
	NewToken          string // the text of a token that was created by the request before
	AddUser, AddToken accountForm
}

// tokenRow is a token in the list.
type tokenRow struct {
	domain.Token
	LastUsed int64
	Expired  bool
	Overlaps bool // the secret before the last rotation is still valid
}

var userInputs = web.Inputs[domain.User]{
	{Field: web.Field{Name: "name", Label: "User name", Required: true, Hint: nameHint}},
	{Field: web.Field{Name: "role", Label: "Role", Type: "select", Value: string(domain.Viewer), Options: roleOptions()}},
	{Field: web.Field{Name: "new-password", Label: "Password", Type: "password", Required: true, Autocomplete: "new-password",
		Hint: web.PasswordHint}, Path: "password", Exact: true},
}

var tokenInputs = web.Inputs[domain.Token]{
	{Field: web.Field{Name: "token-name", Label: "Token name", Required: true, Hint: nameHint}, Path: "name"},
	{Field: web.Field{Name: "token-role", Label: "Role of the token", Type: "select", Value: string(domain.Poster), Options: roleOptions()}, Path: "role"},
	{Field: web.Field{Name: "devices", Label: "Devices that a poster may post to",
		Hint: "Separate patterns by commas; * stands for any characters. Leave empty for all devices."}, Exact: true},
	{Field: web.Field{Name: "days", Label: "Expires after days", Type: "number", Value: "365", Hint: "Leave empty for a token without an end."}},
}

// accountForm is the form of a new user or token. Checked is its box.
type accountForm struct {
	*web.Form
	Open, Checked bool
}

func (s userPages) listUsers(c *gin.Context) error {
	d := usersData{AddUser: accountForm{Open: c.Query("add") == "user"}, AddToken: accountForm{Open: c.Query("add") == "token"}}
	if !web.IsLive(c) {
		var err error
		if d.NewToken, err = s.Sessions.Take(c, shownOnce); err != nil {
			return err
		}
	}
	return s.showUsers(c, http.StatusOK, "", d)
}

// showUsers shows the lists. d has the forms with their input.
func (s userPages) showUsers(c *gin.Context, status int, message string, d usersData) error {
	var err error
	d.Open = s.open
	if d.Users, err = s.users.Users(); err != nil {
		return err
	}
	tokens, err := s.tokens.Tokens()
	if err != nil {
		return err
	}
	d.MoreUsers, d.MoreTokens = max(0, len(d.Users)-mostAccounts), max(0, len(tokens)-mostAccounts)
	d.Users = d.Users[:len(d.Users)-d.MoreUsers]
	now := s.Now().UnixMilli()
	for _, t := range tokens[:len(tokens)-d.MoreTokens] {
		t.Devices = web.CutRow(&t.Devices)
		d.Tokens = append(d.Tokens, tokenRow{t, s.tokens.LastUsed(t.Name), t.Expires != 0 && t.Expires <= now, t.OldUntil > now})
	}
	if d.AddUser.Form == nil {
		d.AddUser.Form, d.AddUser.Checked = userInputs.Blank(), true
	}
	if d.AddToken.Form == nil {
		d.AddToken.Form = tokenInputs.Blank()
	}
	userInputs.Show(d.AddUser.Form)
	tokenInputs.Show(d.AddToken.Form)
	return s.Show(c, status, "users", web.Page{Title: "Users and tokens", Live: "users&tokens", Message: message, Data: d})
}

// roleOptions are the roles with what each may do.
func roleOptions() []web.Option {
	var all []web.Option
	for _, r := range domain.Roles() {
		all = append(all, web.Option{Value: string(r), Label: string(r) + ": " + r.About()})
	}
	return all
}

func (s userPages) addUser(c *gin.Context) error {
	f := accountForm{Form: userInputs.Read(c, ""), Open: true, Checked: c.PostForm("mustChange") != ""}
	name, role := f.Texts["name"], domain.Role(f.Texts["role"])
	err := s.users.AddUser(c.Request.Context(), web.ActorOf(c), name, role, f.Texts["new-password"], f.Checked)
	if err == nil {
		return s.Done(c, "/users", "The user %s is added.", name)
	}
	return s.Refuse(c, err, func(string) error {
		return s.showUsers(c, http.StatusUnprocessableEntity, f.Refuse(answerOf(err), userInputs.Labels()), usersData{AddUser: f})
	})
}

// answerOf returns the answer to a request that err refuses.
func answerOf(err error) web.Answer {
	return web.Answer{Status: http.StatusUnprocessableEntity, Message: err.Error(), Problems: web.ProblemsOf(err)}
}

type userData struct {
	Of       domain.User
	Roles    []web.Option
	Self     bool
	Password string // what is wrong with the new password
	Role     string // what is wrong with the new role
}

func (s userPages) showUser(c *gin.Context) error {
	return s.showOneUser(c, http.StatusOK, userData{}, "")
}

func (s userPages) showOneUser(c *gin.Context, status int, d userData, message string) error {
	u, ok := s.users.User(c.Param("name"))
	if !ok {
		return s.ShowError(c, http.StatusNotFound, fmt.Sprintf("There is no user %.80q. Choose one from the list of users.", c.Param("name")))
	}
	d.Of, d.Roles, d.Self = u, roleOptions(), "user:"+u.Name == web.ActorOf(c)
	return s.Show(c, status, "user", web.Page{Title: u.Name, Message: message, Data: d})
}

// refuseUser shows a user whose change is refused: the error of the one field beside it, or else above the page.
func (s userPages) refuseUser(c *gin.Context, err error, path, label string, data func(says string) userData) error {
	return s.Refuse(c, err, func(string) error {
		var f web.Form
		message := f.Refuse(answerOf(err), web.Labels{{Path: path, Text: label}})
		return s.showOneUser(c, http.StatusUnprocessableEntity, data(f.Problems.Of(path, label)), message)
	})
}

func userPath(name string) string { return "/users/" + url.PathEscape(name) }

func (s userPages) changeRole(c *gin.Context) error {
	name, role := c.Param("name"), c.PostForm("role")
	if err := s.users.SetRole(c.Request.Context(), web.ActorOf(c), name, domain.Role(role)); err != nil {
		return s.refuseUser(c, err, "role", "Role", func(says string) userData { return userData{Role: says} })
	}
	to := userPath(name)
	if name == strings.TrimPrefix(web.ActorOf(c), "user:") && !domain.Role(role).May(domain.MayAdminister) {
		to = "/"
	}
	return s.Done(c, to, "The user %s has the role %s now.", name, role)
}

func (s userPages) resetPassword(c *gin.Context) error {
	name, password := c.Param("name"), c.PostForm("new-password")
	mustChange := "user:"+name != web.ActorOf(c)
	if err := s.users.SetPassword(c.Request.Context(), web.ActorOf(c), name, password, mustChange); err != nil {
		return s.refuseUser(c, err, "password", "New password", func(says string) userData { return userData{Password: says} })
	}
	if u, ok := s.users.User(name); ok && !mustChange {
		if err := s.Sessions.Begin(c, u); err != nil {
			return err
		}
	}
	return s.Done(c, userPath(name), "The password of %s is changed. All other sessions of %s have ended.", name, name)
}

func (s userPages) removeUser(c *gin.Context) error {
	name := c.Param("name")
	if err := s.users.RemoveUser(c.Request.Context(), web.ActorOf(c), name); err != nil {
		return s.Refuse(c, err, func(message string) error {
			return s.showOneUser(c, http.StatusUnprocessableEntity, userData{}, message)
		})
	}
	return s.Done(c, "/users", "The user %s is removed.", name)
}

func (s userPages) addToken(c *gin.Context) error {
	f := accountForm{Form: tokenInputs.Read(c, ""), Open: true, Checked: c.PostForm("certificate") != ""}
	t := domain.Token{
		Name: f.Texts["token-name"], Role: domain.Role(f.Texts["token-role"]), Devices: words(f.Texts["devices"]), Certificate: f.Checked,
	}
	again := func(message string) error {
		return s.showUsers(c, http.StatusUnprocessableEntity, message, usersData{AddToken: f})
	}
	if text := f.Texts["days"]; text != "" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 || days > mostExpiryDays {
			f.Problems.Add("days", fmt.Sprintf("Give a whole number of days, from 1 to %d, or nothing.", mostExpiryDays))
			return again(f.RefuseProblems(tokenInputs.Labels()))
		}
		t.Expires = s.Now().UnixMilli() + int64(days)*dayMS
	}
	text, err := s.tokens.AddToken(c.Request.Context(), web.ActorOf(c), t)
	if err != nil {
		return s.Refuse(c, err, func(string) error { return again(f.Refuse(answerOf(err), tokenInputs.Labels())) })
	}
	s.Sessions.Put(c.Request.Context(), shownOnce, text)
	return s.Done(c, "/users", "The token %s is created.%s", t.Name, s.unknownDevices(t))
}

// unknownDevices returns a sentence about the devices of a token that do not exist; "" if there are none. Patterns with * are left out.
func (s userPages) unknownDevices(t domain.Token) string {
	view, done := s.state()
	defer done()
	unknown := slices.DeleteFunc(slices.Clone(t.Devices), func(name string) bool {
		_, there := view.State.Devices.Get(name)
		return there || strings.Contains(name, "*")
	})
	if len(unknown) == 0 {
		return ""
	}
	return " There is no such device now: " + strings.Join(unknown[:min(len(unknown), 3)], ", ") + "."
}

// words are the parts of a text between commas or spaces.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
}

// overlap is how long the old secret of a token that is rotated here stays valid.
const overlap = 24 * time.Hour

func (s userPages) rotateToken(c *gin.Context) error {
	name := c.Param("name")
	text, err := s.tokens.RotateToken(c.Request.Context(), web.ActorOf(c), name, overlap)
	if err != nil {
		return s.Refuse(c, err, func(message string) error {
			return s.showUsers(c, http.StatusUnprocessableEntity, message, usersData{})
		})
	}
	s.Sessions.Put(c.Request.Context(), shownOnce, text)
	return s.Done(c, "/users", "The token %s has a new secret. The old one stays valid for 24 hours.", name)
}

func (s userPages) revokeToken(c *gin.Context) error {
	name := c.Param("name")
	if err := s.tokens.RemoveToken(c.Request.Context(), web.ActorOf(c), name); err != nil {
		return s.Refuse(c, err, func(message string) error {
			return s.showUsers(c, http.StatusUnprocessableEntity, message, usersData{})
		})
	}
	if s.open {
		return s.Done(c, "/users", "The token %s is revoked.", name)
	}
	return s.Done(c, "/users", "The token %s is revoked. Programs that use it are refused from now on.", name)
}
