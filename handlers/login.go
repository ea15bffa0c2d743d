package handlers

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/access"
	"ledge/handlers/jsonform"
)

// LoginBytes is the longest body of POST /login.
const LoginBytes = 4 << 10

// isBeforeLogin reports whether a request's body comes from a client that has not logged in: that of a login, and in secure mode each without
// an identity. In open mode all requests are anonymous.
func (o *Options) isBeforeLogin(r *http.Request) bool {
	if o.Access == nil || r.ContentLength == 0 {
		return false
	}
	_, known := access.IdentityOf(r.Context())
	return !known && !o.Access.Open || r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/login")
}

// LoginRequest is the body of POST /login.
type LoginRequest struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// loginAnswer has a token. Expires is in milliseconds since the Unix epoch.
type loginAnswer struct {
	Envelope
	Token   string `json:"token"`
	Expires int64  `json:"expires"`
}

// login answers a user's name and password with a token. No answer and no line of the log has anything of the body.
func (a *API) login(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	asked, err := a.readLogin(c)
	if err != nil {
		a.Fail(c, err)
		return
	}
	token, until, err := a.Access.Login(c.Request.Context(), asked.Username, asked.Password, c.Request.RemoteAddr)
	switch domain.CodeOf(err) {
	case domain.Unauthenticated, domain.Forbidden, domain.TooMany:
		if err != nil {
			a.refuse(c.Writer, c.Request, c.FullPath(), err)
			return
		}
	}
	if err != nil {
		a.Fail(c, err)
		return
	}
	a.Reply(c, http.StatusOK, loginAnswer{a.Envelope(http.StatusOK), token, until.UnixMilli()})
}

func (a *API) readLogin(c *gin.Context) (asked LoginRequest, err error) {
	body, err := a.ReadBody(c, LoginBytes)
	if err != nil {
		return asked, err
	}
	wrong := domain.Errorf(domain.Invalid, `the body is not a login; send {"username":"…","password":"…"}, both of them not empty`)
	if jsonform.CheckLimits(body, body, 0) != nil || json.Unmarshal(body, &asked) != nil || asked.Username == "" || asked.Password == "" {
		return asked, wrong
	}
	return asked, nil
}
