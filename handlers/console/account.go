package console

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// accountForm has the errors of a change of one's own password.
type accountForm struct {
	Old, New, Again string
}

func (s *Console) showAccount(c *gin.Context) {
	s.show(c, http.StatusOK, "account", Page{Title: "My account", Data: accountForm{}})
}

func (s *Console) changePassword(c *gin.Context) {
	u, _ := user(c)
	wrong, err := s.checkNewPassword(c, u)
	if err != nil {
		s.fail(c, err)
		return
	}
	if wrong != (accountForm{}) {
		s.show(c, http.StatusUnprocessableEntity, "account", Page{Title: "My account", Data: wrong})
		return
	}
	if err := s.Users.SetPassword(c.Request.Context(), "user:"+u.Name, u.Name, c.PostForm("new"), false); err != nil {
		if message := s.refused(c, err); message != "" {
			s.show(c, http.StatusUnprocessableEntity, "account", Page{Title: "My account", Data: accountForm{New: message}})
		}
		return
	}
	u, _ = s.Users.User(u.Name)
	if err := s.begin(c, u); err != nil {
		s.fail(c, err)
		return
	}
	s.done(c, nextPage(s.sessions.PopString(c.Request.Context(), keyNext)), "Your password is changed. Your other sessions have ended.")
}

func (s *Console) checkNewPassword(c *gin.Context, u domain.User) (wrong accountForm, err error) {
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
