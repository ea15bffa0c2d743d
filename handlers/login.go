package handlers

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/connections"
)

// LoginBytes is the longest body of POST /login.
const LoginBytes = 4 << 10

// Bodies of clients that have not logged in: how many of each service may be under way, and how long one may take.
const (
	mostUnknown = 64
	unknownTime = 5 * time.Second
)

// isBeforeLogin reports whether a request's body comes from a client that has not logged in: that of a login, and in secure mode each without
// an identity. In open mode all requests are anonymous.
func (o *Options) isBeforeLogin(r *http.Request) bool {
	if o.Access == nil || r.ContentLength == 0 {
		return false
	}
	_, known := IdentityOf(r.Context())
	return !known && !o.Access.Open || r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/login")
}

func (o *Options) beginUnknown(r *http.Request) (done func(), err error) {
	return BeginUnknown(o.unknown, r)
}

// NewUnknown returns the quota of a service for [BeginUnknown].
func NewUnknown() *Quota { return NewQuota(mostUnknown) }

// BeginUnknown counts a request with a body from a client that has not logged in, and shortens its time.
func BeginUnknown(unknown *Quota, r *http.Request) (done func(), err error) {
	client := connections.Client(r)
	if !unknown.Take(client, 1) {
		return nil, domain.Errorf(domain.Unavailable, "%d requests before a login are being served, or three quarters of that for this client, which is the limit; try again", mostUnknown)
	}
	if body, ok := r.Body.(*timedBody); ok {
		body.time, body.left, body.bytes = unknownTime, unknownTime, math.MaxInt64
		body.wait()
	}
	return func() { unknown.Give(client, 1) }, nil
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
	wrong := domain.Errorf(domain.Invalid, `the body is no login; send {"username":"…","password":"…"}, both of them not empty`)
	if checkJSON(body, body, 0) != nil || json.Unmarshal(body, &asked) != nil || asked.Username == "" || asked.Password == "" {
		return asked, wrong
	}
	return asked, nil
}
