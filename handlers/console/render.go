package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

//go:embed templates
var templates embed.FS

// parsePages returns a template for each file in templates but the layout and the parts, which all of them share.
func parsePages() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(functions).ParseFS(templates, "templates/layout.html", "templates/parts.html"))
	names, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is in the program
	}
	pages := map[string]*template.Template{}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page == "layout" || page == "parts" {
			continue
		}
		pages[page] = template.Must(template.Must(shared.Clone()).ParseFS(templates, name))
	}
	return pages
}

// Page is what every page has beside its own Data.
type Page struct {
	Title string
	// Live are the topics that change what the page shows, as the query of /live; empty: none.
	Live template.URL
	// At is the position of the state that the page shows, or an older one, for /live.
	At      string
	User    domain.User
	Path    string // of the request, with its query
	Menu    []menuEntry
	Message string // what is wrong with the request as a whole
	Notice  string // what the request before has done
	Version string
	Data    any
}

// May reports whether the user has a right, such as "change".
func (p Page) May(right string) bool { return p.User.Role.May(domain.Right(right)) }

type menuEntry struct {
	Path, Label string
	Current     bool
}

// menu lists the pages, with the right that each needs.
var menu = []struct {
	path, label string
	right       domain.Right
}{
	{"/", "Overview", domain.MayRead},
	{"/devices", "Devices", domain.MayRead},
	{"/readings", "Readings", domain.MayRead},
	{"/profiles", "Profiles", domain.MayRead},
	{"/services", "Services", domain.MayRead},
	{"/watchers", "Watchers", domain.MayRead},
	{"/subscriptions", "Subscriptions", domain.MayRead},
	{"/notifications", "Notifications", domain.MayRead},
	{"/ledger", "Ledger", domain.MayAudit},
	{"/users", "Users", domain.MayAdminister},
	{"/system", "System", domain.MayRead},
}

func menuOf(role domain.Role, at string) (entries []menuEntry) {
	for _, m := range menu {
		if role.May(m.right) {
			current := at == m.path || m.path != "/" && strings.HasPrefix(at, m.path+"/")
			entries = append(entries, menuEntry{m.path, m.label, current})
		}
	}
	return entries
}

// show answers with a page. name is that of its template.
func (s *Console) show(c *gin.Context, status int, name string, p Page) {
	u, known := user(c)
	p.At = c.GetString("at")
	p.User, p.Path, p.Version = u, c.Request.URL.RequestURI(), s.Version
	if known && !u.MustChange {
		p.Menu = menuOf(u.Role, c.Request.URL.Path)
	}
	if p.Notice == "" {
		p.Notice = s.notice(c)
	}
	var text bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&text, "layout", p); err != nil {
		s.Logger.Error("page not rendered", "page", name, "error", err)
		c.String(http.StatusInternalServerError, "this page cannot be shown; the log of the program says why\n")
		return
	}
	c.Header("Vary", "Accept-Encoding, HX-Request")
	writeText(c, status, "text/html; charset=utf-8", text.Bytes())
}

// writeText answers with a text, compressed where the browser takes that.
func writeText(c *gin.Context, status int, contentType string, text []byte) {
	c.Header("Content-Type", contentType)
	if len(text) > 1<<10 && strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
		_, _ = z.Write(text)                                 // a buffer takes all
		_ = z.Close()
		text = packed.Bytes()
		c.Header("Content-Encoding", "gzip")
	}
	c.Header("Content-Length", strconv.Itoa(len(text)))
	c.Status(status)
	_, _ = c.Writer.Write(text) // fails when the browser is gone: nobody is left to be told
}

// fail answers with the page for an error, and ends the request.
func (s *Console) fail(c *gin.Context, err error) {
	c.Abort()
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code == domain.Internal {
		s.Logger.Error("request failed", "service", s.Service, "path", c.Request.URL.Path, "error", err)
		e = domain.Errorf(domain.Internal, "something went wrong here; the log of the program says what")
	}
	s.showError(c, statusOf(e.Code), e.Message)
}

// showError answers with a page that says what is wrong.
func (s *Console) showError(c *gin.Context, status int, message string) {
	s.show(c, status, "error", Page{Title: http.StatusText(status), Message: message})
}

func (s *Console) notFound(c *gin.Context) {
	if !c.IsAborted() {
		s.showError(c, http.StatusNotFound, fmt.Sprintf("There is no page %s. Choose one from the menu.", c.Request.URL.Path))
	}
}

// statusOf is the status of a page for an error that a service has not answered.
func statusOf(code domain.Code) int {
	switch code {
	case domain.Invalid:
		return http.StatusUnprocessableEntity
	case domain.NotFound:
		return http.StatusNotFound
	case domain.Conflict:
		return http.StatusConflict
	case domain.Forbidden:
		return http.StatusForbidden
	case domain.Unauthenticated:
		return http.StatusUnauthorized
	case domain.TooMany:
		return http.StatusTooManyRequests
	case domain.Unavailable:
		return http.StatusServiceUnavailable
	case domain.Full:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// redirect sends a browser to another page of the console after a form was taken.
func (s *Console) redirect(c *gin.Context, to string) { c.Redirect(http.StatusSeeOther, to) }

// done is redirect with a notice that the next page shows once.
func (s *Console) done(c *gin.Context, to, notice string, args ...any) {
	ctx := c.Request.Context()
	s.sessions.Put(ctx, "notice", fmt.Sprintf(notice, args...))
	if _, _, err := s.sessions.Commit(ctx); err != nil {
		s.Logger.Warn("a notice is not shown", "error", err)
	}
	s.redirect(c, to)
}

func (s *Console) notice(c *gin.Context) string {
	if _, known := user(c); !known || isLive(c) {
		return ""
	}
	ctx := c.Request.Context()
	text := s.sessions.PopString(ctx, "notice")
	if text != "" {
		if _, _, err := s.sessions.Commit(ctx); err != nil {
			s.Logger.Warn("a notice is shown again", "error", err)
		}
	}
	return text
}

func (s *Console) recoverPanic(c *gin.Context) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler: //nolint:errorlint // a panic value, compared as net/http does
			panic(p)
		case domain.CannotAnswer(p) != nil && !c.Writer.Written():
			s.fail(c, domain.CannotAnswer(p))
		case c.Writer.Written():
			s.Logger.Error("page panicked", "panic", p, "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler)
		default:
			s.fail(c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	c.Next()
}

// functions are those of the templates.
var functions = template.FuncMap{
	"asset": assetPath,
	"time":  showTime,
	"ago":   ago,
	"join":  strings.Join,
	"bytes": showBytes,
	"plural": func(n int, one, many string) string {
		if n == 1 {
			return one
		}
		return many
	},
	"field": newField,
}

// showTime shows a time in milliseconds since the Unix epoch; the script shows it in the time zone of the browser.
func showTime(ms int64) template.HTML {
	if ms == 0 {
		return "never"
	}
	t := time.UnixMilli(ms).UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format("2006-01-02T15:04:05.000Z"), t.Format("2006-01-02 15:04:05 UTC"))) //nolint:gosec // digits only
}

// ago says how long before now a time was, in milliseconds since the Unix epoch.
func ago(ms int64, now time.Time) string {
	switch d := now.Sub(time.UnixMilli(ms)); {
	case ms == 0:
		return "never"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	default:
		return fmt.Sprintf("%d days ago", d/(24*time.Hour))
	}
}

// showBytes shows a number of bytes.
func showBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/(1<<10), 0
	for value >= 1<<10 && unit < 3 {
		value, unit = value/(1<<10), unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[unit])
}
