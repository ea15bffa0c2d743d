package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

type loginForm struct {
	Username, Next string
}

// loginPages are the pages of the login and of the account.
type loginPages struct{ *Site }

func (s loginPages) routes() []Route {
	return []Route{
		Get("/login", handlers.Public, s.showLogin),
		Post("/login", handlers.Public, s.login),
		Post("/logout", handlers.Public, s.logout),
		Get("/account", handlers.AnyRole, s.showAccount),
		Post("/account/password", handlers.AnyRole, s.changePassword),
	}
}

func (s loginPages) showLogin(c *gin.Context) error {
	if _, known := User(c); known {
		return s.Redirect(c, nextPage(c.Query("next")))
	}
	return s.Show(c, http.StatusOK, "login", Page{Title: "Log in", Data: loginForm{Next: c.Query("next")}})
}

// login begins a session and shows the page that was asked for. A script that logs in again above a page is answered 204.
func (s loginPages) login(c *gin.Context) error {
	form := loginForm{strings.TrimSpace(c.PostForm("username")), c.PostForm("next")}
	_, err := s.Password(c.Request.Context(), form.Username, c.PostForm("password"), c.Request.RemoteAddr)
	u, known := s.Accounts.User(form.Username)
	switch code := domain.CodeOf(err); {
	case err == nil && known:
	case err == nil, code == domain.Unauthenticated, code == domain.TooMany, code == domain.Unavailable, code == domain.Invalid:
		return s.refuseLogin(c, form, err)
	default:
		return err
	}
	if err := s.Sessions.Begin(c, u); err != nil {
		return err
	}
	if c.GetHeader("HX-Request") != "" {
		c.Status(http.StatusNoContent)
		return nil
	}
	return s.Redirect(c, nextPage(form.Next))
}

func (s loginPages) refuseLogin(c *gin.Context, form loginForm, err error) error {
	status, message := http.StatusUnauthorized, "The user name or the password is wrong."
	if code := domain.CodeOf(err); err != nil && code != domain.Unauthenticated && code != domain.Invalid {
		status, message = StatusOf(code), err.Error()
	}
	return s.Show(c, status, "login", Page{Title: "Log in", Message: message, Data: form})
}

// nextPage is a page of the console that a login leads to, whatever the query says.
func nextPage(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

func (s loginPages) logout(c *gin.Context) error {
	if err := s.Sessions.end(c); err != nil {
		return err
	}
	return s.Redirect(c, "/login")
}

// PasswordHint says how a new password must be.
const PasswordHint = "At least 10 characters; several words are easy to remember and hard to guess."

// accountForm has the errors of a change of one's own password.
type accountForm struct {
	Old, New, Again string
}

func (s loginPages) showAccount(c *gin.Context) error {
	return s.Show(c, http.StatusOK, "account", Page{Title: "My account", Data: accountForm{}})
}

func (s loginPages) changePassword(c *gin.Context) error {
	u, _ := User(c)
	wrong, err := s.checkNewPassword(c, u)
	if err != nil {
		return err
	}
	if wrong != (accountForm{}) {
		return s.Show(c, http.StatusUnprocessableEntity, "account", Page{Title: "My account", Data: wrong})
	}
	if err := s.Accounts.SetPassword(c.Request.Context(), "user:"+u.Name, u.Name, c.PostForm("new"), false); err != nil {
		return s.Refuse(c, err, func(message string) error {
			says := cmp.Or(ProblemsOf(err).Of("password", "New password"), Sentence(message))
			return s.Show(c, http.StatusUnprocessableEntity, "account", Page{Title: "My account", Data: accountForm{New: says}})
		})
	}
	u, _ = s.Accounts.User(u.Name)
	if err := s.Sessions.Begin(c, u); err != nil {
		return err
	}
	return s.Done(c, nextPage(s.Sessions.PopString(c.Request.Context(), keyNext)), "Your password is changed. Your other sessions have ended.")
}

func (s loginPages) checkNewPassword(c *gin.Context, u domain.User) (wrong accountForm, err error) {
	old, fresh := c.PostForm("old"), c.PostForm("new")
	switch {
	case fresh == old:
		wrong.New = "Use another password than the old one."
	case fresh != c.PostForm("again"):
		wrong.Again = "This is not the same as above. Type the new password twice."
	}
	if wrong != (accountForm{}) {
		return wrong, nil
	}
	_, err = s.Password(c.Request.Context(), u.Name, old, c.Request.RemoteAddr)
	switch domain.CodeOf(err) {
	case domain.Unauthenticated, domain.Invalid, domain.TooMany:
		if err != nil {
			return accountForm{Old: Sentence(err.Error())}, nil
		}
	}
	return wrong, err
}
