package web

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// accountForm has the errors of a change of one's own password.
type accountForm struct {
	Old, New, Again string
}

func (s loginPages) showAccount(c *gin.Context) {
	s.Show(c, http.StatusOK, "account", Page{Title: "My account", Data: accountForm{}})
}

func (s loginPages) changePassword(c *gin.Context) {
	u, _ := User(c)
	wrong, err := s.checkNewPassword(c, u)
	if err != nil {
		s.Fail(c, err)
		return
	}
	if wrong != (accountForm{}) {
		s.Show(c, http.StatusUnprocessableEntity, "account", Page{Title: "My account", Data: wrong})
		return
	}
	if err := s.Accounts.SetPassword(c.Request.Context(), "user:"+u.Name, u.Name, c.PostForm("new"), false); err != nil {
		if message := s.Refused(c, err); message != "" {
			s.Show(c, http.StatusUnprocessableEntity, "account", Page{Title: "My account", Data: accountForm{New: message}})
		}
		return
	}
	u, _ = s.Accounts.User(u.Name)
	if err := s.Sessions.Begin(c, u); err != nil {
		s.Fail(c, err)
		return
	}
	s.Done(c, nextPage(s.Sessions.PopString(c.Request.Context(), keyNext)), "Your password is changed. Your other sessions have ended.")
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
			return accountForm{Old: err.Error()}, nil //nolint:nilerr // it is what is wrong with the field
		}
	}
	return wrong, err
}
