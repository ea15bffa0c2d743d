package web

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/bodies"
	"ledge/handlers/web"
)

// gate lets requests in: with the session and the rights of their users, and with a body within limits.
type gate struct{ *Site }

// session loads the session of a request. Each request of the user extends the session. Requests that a page sends by itself do not.
func (s gate) session(c *gin.Context) {
	token := ""
	if cookie, err := c.Request.Cookie(s.Sessions.Cookie.Name); err == nil {
		token = cookie.Value
	}
	ctx, err := s.Sessions.Load(c.Request.Context(), token)
	if err != nil {
		s.Fail(c, err)
		return
	}
	c.Request = c.Request.WithContext(ctx)
	u, ok := s.Sessions.userOf(ctx)
	if !ok {
		return
	}
	if !IsLive(c) && c.FullPath() != livePath {
		if _, _, err := s.Sessions.Commit(ctx); err != nil {
			s.Fail(c, err)
			return
		}
	}
	s.setUser(c, u)
}

// setUser has a request sent by a user, as long as the user is logged in.
func (s gate) setUser(c *gin.Context, u domain.User) {
	c.Set("user", u)
	c.Request = c.Request.WithContext(access.WithLogin(c.Request.Context(), u.Identity(), c.Request.RemoteAddr, func() error {
		if _, ok := s.Sessions.userNow(c); !ok {
			return domain.Errorf(domain.Unauthenticated, "the session ended while the request was under way; log in again and repeat it")
		}
		return nil
	}))
}

// authorizeAgain looks again whether the user may send a form, because its body may have taken its time. A form with files is read by its
// handler, which sends it to a service.
func (s gate) authorizeAgain(right domain.Right) gin.HandlerFunc {
	return func(c *gin.Context) {
		if _, known := User(c); !known || c.IsAborted() || c.Request.Method != http.MethodPost {
			return
		}
		u, ok := s.Sessions.userNow(c)
		if !ok {
			s.askForLogin(c)
			return
		}
		s.setUser(c, u)
		s.authorize(right)(c)
	}
}

// authorize lets a request go on that its user may send. It sends a browser without a login to the login page, and from there back.
func (s gate) authorize(right domain.Right) gin.HandlerFunc {
	return func(c *gin.Context) {
		u, known := User(c)
		switch {
		case c.IsAborted() || right == handlers.Public:
		case !known:
			s.askForLogin(c)
		case u.MustChange && c.Request.URL.Path != "/account" && c.Request.URL.Path != "/account/password":
			s.keepPage(c)
			c.Redirect(http.StatusSeeOther, "/account")
			c.Abort()
		case right != handlers.AnyRole && !u.Role.May(right):
			s.Fail(c, domain.Errorf(domain.Forbidden, "your role is %s; this needs the role %s", u.Role, domain.RolesThatMay(right)))
		}
	}
}

// keepPage has the session keep the page of a request, for after the change of the password.
func (s gate) keepPage(c *gin.Context) {
	uri := c.Request.URL.RequestURI()
	if c.Request.Method != http.MethodGet || c.Request.URL.Path == livePath || IsLive(c) || len(uri) > mostNext {
		return
	}
	if err := s.Sessions.Keep(c, keyNext, uri); err != nil {
		s.Logger.Warn("the page that was asked for is not kept", "error", err)
	}
}

// askForLogin answers a script with 401, and the script shows the login above the page. It sends a browser to the login page.
func (s gate) askForLogin(c *gin.Context) {
	c.Abort()
	if c.GetHeader("HX-Request") != "" || c.Request.URL.Path == livePath {
		c.String(http.StatusUnauthorized, "the session has ended; log in again\n")
		return
	}
	if c.GetHeader("Sec-Fetch-Site") == "cross-site" && web.IsLink(c.Request) {
		// A browser sends no cookie after a link on another site, but it sends one after a link on this page.
		s.answer(func(c *gin.Context) error { return s.Show(c, http.StatusOK, "again", Page{Title: "One moment"}) })(c)
		return
	}
	to := "/login"
	if c.Request.Method == http.MethodGet && c.Request.URL.Path != "/" {
		to += "?next=" + url.QueryEscape(c.Request.URL.RequestURI())
	}
	c.Redirect(http.StatusSeeOther, to)
}

// admit lets a request with a body in, as the API does, and reads its form into memory: nothing of it is parsed if it is too long. A form
// with an upload is left to readUpload, or is a stream.
func (s gate) admit(r Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		if c.Request.ContentLength == 0 {
			return
		}
		most := int64(bodies.FormBytes)
		if r.Right == handlers.Public {
			defer s.unknown.Begin(c.Request)()
			most = handlers.LoginBytes
		}
		done, err := s.Bodies.Admit(c, !r.streamed)
		if err != nil {
			s.Fail(c, err)
			return
		}
		defer done()
		if !r.upload || !isMultipart(c) {
			if err := s.Bodies.LoadForm(c, most); err != nil {
				s.Fail(c, err)
				return
			}
		}
		c.Writer.Header().Del("Connection")
		c.Next()
	}
}

func isMultipart(c *gin.Context) bool {
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	return err == nil && media == "multipart/form-data"
}

func (s gate) recoverPanic(c *gin.Context) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler: //nolint:errorlint // a panic value, compared as net/http does
			panic(p)
		case domain.CannotAnswer(p) != nil && !c.Writer.Written():
			s.Fail(c, domain.CannotAnswer(p))
		case c.Writer.Written():
			s.Logger.Error("page panicked", "panic", p, "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler)
		default:
			s.Fail(c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	c.Next()
}

// giveBack gives back the memory for large entities that a request holds, at its end.
func (s gate) giveBack(c *gin.Context) {
	m := s.answers.Of(c.Request)
	c.Set("memory", m)
	defer m.Release()
	c.Next()
}

func (s gate) headers(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if s.Position != nil {
		c.Set("at", s.Position()) // before anything is read
	}
	if c.Request.ContentLength != 0 {
		h.Set("Connection", "close") // unless admit reads the body
	}
	c.Next()
}

// Policy is the Content-Security-Policy of every page: nothing is loaded from elsewhere, no script or style is in a page, and no other
// site shows the console in a frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; " +
	"worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
