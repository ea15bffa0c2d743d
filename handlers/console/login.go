package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

type loginForm struct {
	Username, Next string
}

func (s *Console) showLogin(c *gin.Context) {
	if _, known := user(c); known {
		s.redirect(c, nextPage(c.Query("next")))
		return
	}
	s.show(c, http.StatusOK, "login", Page{Title: "Log in", Data: loginForm{Next: c.Query("next")}})
}

// login begins a session and shows the page that was asked for. A script that logs in again above a page is answered 204.
func (s *Console) login(c *gin.Context) {
	form := loginForm{strings.TrimSpace(c.PostForm("username")), c.PostForm("next")}
	_, err := s.Password(c.Request.Context(), form.Username, c.PostForm("password"), c.Request.RemoteAddr)
	u, known := s.Users.User(form.Username)
	switch code := domain.CodeOf(err); {
	case err == nil && known:
	case err == nil, code == domain.Unauthenticated, code == domain.TooMany, code == domain.Unavailable, code == domain.Invalid:
		s.refuseLogin(c, form, err)
		return
	default:
		s.fail(c, err)
		return
	}
	if err := s.begin(c, u); err != nil {
		s.fail(c, err)
		return
	}
	if c.GetHeader("HX-Request") != "" {
		c.Status(http.StatusNoContent)
		return
	}
	s.redirect(c, nextPage(form.Next))
}

func (s *Console) refuseLogin(c *gin.Context, form loginForm, err error) {
	status, message := http.StatusUnauthorized, "The user name or the password is wrong."
	if code := domain.CodeOf(err); err != nil && code != domain.Unauthenticated && code != domain.Invalid {
		status, message = statusOf(code), err.Error()
	}
	s.show(c, status, "login", Page{Title: "Log in", Message: message, Data: form})
}

// nextPage is a page of the console that a login leads to, whatever the query says.
func nextPage(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

func (s *Console) logout(c *gin.Context) {
	if err := s.end(c); err != nil {
		s.fail(c, err)
		return
	}
	s.redirect(c, "/login")
}
