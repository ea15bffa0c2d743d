package console

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/web"
)

// A session is kept in memory: a restart ends it. It has the user's name and the id of the password, so a new password ends it,
// and so does the removal of the user. A change of the role holds at once.

const (
	// longestSession is the longest life of a session, also if it is used.
	longestSession = 7 * 24 * time.Hour
	// mostSessions bounds the sessions, mostOfUser those of one user. At a limit the session that ends first is removed: of the user, or of the
	// user with the most.
	mostSessions, mostOfUser = 1000, 20
	// cookieName is the session's cookie; with TLS browsers hold its prefix to the rules of RFC 6265bis.
	cookieName, secureCookieName = "ledge-session", "__Host-ledge-session"

	keyUser, keyCredential = "user", "credential"
	// keyNext is the page that a user asked for who must change the password first.
	keyNext = "next"
	// mostNext bounds its address, in bytes.
	mostNext = 2 << 10
)

// newSessions returns the sessions. They call ended when a session was removed.
func newSessions(idle time.Duration, tls bool, ended func()) *scs.SessionManager {
	m := scs.New()
	m.Store = &sessionStore{idle: idle, ended: ended, sessions: map[string]storedSession{}}
	m.IdleTimeout, m.Lifetime = idle, longestSession
	m.HashTokenInStore = true
	m.Cookie.Name, m.Cookie.Secure, m.Cookie.Persist = cookieName, tls, false
	m.Cookie.HttpOnly, m.Cookie.SameSite, m.Cookie.Path = true, http.SameSiteStrictMode, "/"
	if tls {
		m.Cookie.Name = secureCookieName
	}
	return m
}

// session loads the session of a request. Each request of the user extends the session. Requests that a page sends by itself do not.
func (s *Console) session(c *gin.Context) {
	token := ""
	if cookie, err := c.Request.Cookie(s.sessions.Cookie.Name); err == nil {
		token = cookie.Value
	}
	ctx, err := s.sessions.Load(c.Request.Context(), token)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Request = c.Request.WithContext(ctx)
	u, ok := s.userOf(ctx)
	if !ok {
		return
	}
	if !isLive(c) && c.FullPath() != "/live" {
		if _, _, err := s.sessions.Commit(ctx); err != nil {
			s.fail(c, err)
			return
		}
	}
	s.setUser(c, u)
}

// setUser has a request sent by a user, as long as the user is logged in.
func (s *Console) setUser(c *gin.Context, u domain.User) {
	c.Set("user", u)
	c.Request = c.Request.WithContext(access.WithLogin(c.Request.Context(), u.Identity(), func() error {
		if _, ok := s.userNow(c); !ok {
			return domain.Errorf(domain.Unauthenticated, "the session ended while the request was under way; log in again and repeat it")
		}
		return nil
	}))
}

// authorizeAgain looks again whether the user may send a form, because its body may have taken its time. A form with files is read by its
// handler, which sends it to a service.
func (s *Console) authorizeAgain(right domain.Right) gin.HandlerFunc {
	return func(c *gin.Context) {
		if _, known := user(c); !known || c.IsAborted() || c.Request.Method != http.MethodPost {
			return
		}
		u, ok := s.userNow(c)
		if !ok {
			s.askForLogin(c)
			return
		}
		s.setUser(c, u)
		s.authorize(right)(c)
	}
}

// isLive reports whether a page loads a part anew by itself. Such a request does not extend the session, and it does not consume a notice.
func isLive(c *gin.Context) bool { return c.GetHeader("X-Live") != "" }

// userOf returns the user of the session in ctx, unless the password has changed since the login.
func (s *Console) userOf(ctx context.Context) (domain.User, bool) {
	u, ok := s.Users.User(s.sessions.GetString(ctx, keyUser))
	return u, ok && u.Credential != "" && u.Credential == s.sessions.GetString(ctx, keyCredential)
}

// userNow returns the user of a long request, unless its session has ended since.
func (s *Console) userNow(c *gin.Context) (u domain.User, ok bool) {
	cookie, err := c.Request.Cookie(s.sessions.Cookie.Name)
	if err != nil {
		return u, false
	}
	ctx, err := s.sessions.Load(context.Background(), cookie.Value)
	if err != nil {
		return u, false
	}
	return s.userOf(ctx)
}

// user returns the user that is logged in; ok is false if nobody is logged in.
func user(c *gin.Context) (u domain.User, ok bool) {
	value, _ := c.Get("user")
	u, ok = value.(domain.User)
	return u, ok
}

// begin starts the session of a user, with a new token: a token from before the login is not valid any more (session fixation).
func (s *Console) begin(c *gin.Context, u domain.User) error {
	ctx := c.Request.Context()
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.sessions.Put(ctx, keyUser, u.Name)
	s.sessions.Put(ctx, keyCredential, u.Credential)
	token, until, err := s.sessions.Commit(context.WithValue(ctx, newSession{}, u.Name))
	if err != nil {
		return err
	}
	s.sessions.WriteSessionCookie(ctx, c.Writer, token, until)
	return nil
}

// end ends the session of a request.
func (s *Console) end(c *gin.Context) error {
	ctx := c.Request.Context()
	if err := s.sessions.Destroy(ctx); err != nil {
		return err
	}
	s.sessions.WriteSessionCookie(ctx, c.Writer, "", time.Time{})
	return nil
}

// authorize lets a request go on that its user may send. It sends a browser without a login to the login page, and from there back.
func (s *Console) authorize(right domain.Right) gin.HandlerFunc {
	return func(c *gin.Context) {
		u, known := user(c)
		switch {
		case c.IsAborted() || right == handlers.Public:
		case !known:
			s.askForLogin(c)
		case u.MustChange && c.Request.URL.Path != "/account" && c.Request.URL.Path != "/account/password":
			s.keepPage(c)
			s.redirect(c, "/account")
			c.Abort()
		case right != handlers.AnyRole && !u.Role.May(right):
			s.fail(c, domain.Errorf(domain.Forbidden, "your role is %s; this needs the role %s", u.Role, domain.RolesThatMay(right)))
		}
	}
}

// keepPage has the session keep the page of a request, for after the change of the password.
func (s *Console) keepPage(c *gin.Context) {
	uri := c.Request.URL.RequestURI()
	if c.Request.Method != http.MethodGet || c.Request.URL.Path == "/live" || isLive(c) || len(uri) > mostNext {
		return
	}
	ctx := c.Request.Context()
	s.sessions.Put(ctx, keyNext, uri)
	if _, _, err := s.sessions.Commit(ctx); err != nil {
		s.Logger.Warn("the page that was asked for is not kept", "error", err)
	}
}

// askForLogin answers a script with 401, and the script shows the login above the page. It sends a browser to the login page.
func (s *Console) askForLogin(c *gin.Context) {
	c.Abort()
	if c.GetHeader("HX-Request") != "" || c.Request.URL.Path == "/live" {
		c.String(http.StatusUnauthorized, "the session has ended; log in again\n")
		return
	}
	if c.GetHeader("Sec-Fetch-Site") == "cross-site" && web.IsLink(c.Request) {
		s.show(c, http.StatusOK, "again", Page{Title: "One moment"}) // a browser sends no cookie after a link on another site, but it sends one after a link on this page
		return
	}
	to := "/login"
	if c.Request.Method == http.MethodGet && c.Request.URL.Path != "/" {
		to += "?next=" + url.QueryEscape(c.Request.URL.RequestURI())
	}
	c.Redirect(http.StatusSeeOther, to)
}
