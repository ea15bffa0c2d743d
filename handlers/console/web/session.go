package web

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// A session is kept in memory: a restart ends it. It has the user's name and the id of the password, so a new password ends it,
// and so does the removal of the user. A change of the role holds at once.

const (
	// longestSession is the longest life of a session, also if it is used.
	longestSession = 7 * 24 * time.Hour
	// mostSessions bounds the sessions, mostOfUser the sessions of one user. At a limit the session that ends first is removed: of the user,
	// or of the user with the most.
	mostSessions, mostOfUser = 1000, 20
	// cookieName is the session's cookie; with TLS browsers hold its prefix to the rules of RFC 6265bis.
	cookieName, secureCookieName = "ledge-session", "__Host-ledge-session"

	keyUser, keyCredential = "user", "credential"
	// keyNext is the page to show after the user has changed the password. mostNext bounds its address, in bytes.
	keyNext, mostNext = "next", 2 << 10
	// keyNotice is the notice of a form, for the next page.
	keyNotice = "notice"
)

// Sessions are the sessions of users that are logged in.
type Sessions struct {
	*scs.SessionManager
	accounts Accounts
}

// newSessions returns the sessions of the users of a site. They call ended when a session was removed.
func newSessions(o Options, ended func()) *Sessions {
	m, idle := scs.New(), cmp.Or(o.Idle, 8*time.Hour) // a shift
	m.Store = &sessionStore{idle: idle, ended: ended, sessions: map[string]storedSession{}}
	m.IdleTimeout, m.Lifetime = idle, longestSession
	m.HashTokenInStore = true
	m.Cookie.Name, m.Cookie.Secure, m.Cookie.Persist = cookieName, o.TLS, false
	m.Cookie.HttpOnly, m.Cookie.SameSite, m.Cookie.Path = true, http.SameSiteStrictMode, "/"
	if o.TLS {
		m.Cookie.Name = secureCookieName
	}
	if o.Cookie != "" {
		m.Cookie.Name += "-" + o.Cookie
	}
	return &Sessions{m, o.Accounts}
}

// IsLive reports whether a page loads a part anew by itself. Such a request does not extend the session, and it does not consume a notice.
func IsLive(c *gin.Context) bool { return c.GetHeader("X-Live") != "" }

// userOf returns the user of the session in ctx, unless the password has changed since the login.
func (s *Sessions) userOf(ctx context.Context) (domain.User, bool) {
	u, ok := s.accounts.User(s.GetString(ctx, keyUser))
	return u, ok && u.Credential != "" && u.Credential == s.GetString(ctx, keyCredential)
}

// userNow returns the user of a long request, unless its session has ended since.
func (s *Sessions) userNow(c *gin.Context) (u domain.User, ok bool) {
	cookie, err := c.Request.Cookie(s.Cookie.Name)
	if err != nil {
		return u, false
	}
	ctx, err := s.Load(context.Background(), cookie.Value)
	if err != nil {
		return u, false
	}
	return s.userOf(ctx)
}

// User returns the user that is logged in; ok is false without a login.
func User(c *gin.Context) (u domain.User, ok bool) {
	value, _ := c.Get("user")
	u, ok = value.(domain.User)
	return u, ok
}

// Begin starts the session of a user, with a new token: a token from before the login is not valid any more (session fixation).
func (s *Sessions) Begin(c *gin.Context, u domain.User) error {
	ctx := c.Request.Context()
	if err := s.RenewToken(ctx); err != nil {
		return err
	}
	s.Put(ctx, keyUser, u.Name)
	s.Put(ctx, keyCredential, u.Credential)
	token, until, err := s.Commit(context.WithValue(ctx, newSession{}, u.Name))
	if err != nil {
		return err
	}
	s.WriteSessionCookie(ctx, c.Writer, token, until)
	return nil
}

// end ends the session of a request.
func (s *Sessions) end(c *gin.Context) error {
	ctx := c.Request.Context()
	if err := s.Destroy(ctx); err != nil {
		return err
	}
	s.WriteSessionCookie(ctx, c.Writer, "", time.Time{})
	return nil
}

// ActorOf returns the user of a request as the actor of events.
func ActorOf(c *gin.Context) string {
	u, _ := User(c)
	return "user:" + u.Name
}

// Keep has the session keep a text. Take returns it.
func (s *Sessions) Keep(c *gin.Context, key, text string) error {
	ctx := c.Request.Context()
	s.Put(ctx, key, text)
	_, _, err := s.Commit(ctx)
	return err
}

// Take returns a text that the session has kept, once. "" if there is none.
func (s *Sessions) Take(c *gin.Context, key string) (text string, err error) {
	ctx := c.Request.Context()
	if text = s.PopString(ctx, key); text != "" {
		_, _, err = s.Commit(ctx)
	}
	return text, err
}
