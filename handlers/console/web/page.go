package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/static"
)

//go:embed templates
var templates embed.FS

// shared is the folder of the templates that all pages have.
const shared = "shared"

// parsePages returns a template for each page of the kit and of others, by the name of its file. Each has a copy of the shared parts, so it
// is parsed when it is used first. Others may be nil.
func parsePages(others fs.FS) map[string]func() *template.Template {
	parts, pages := template.New("").Funcs(functions), map[string]func() *template.Template{}
	each := func(in fs.FS, read func(name, folder string)) {
		err := fs.WalkDir(in, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				read(name, path.Base(path.Dir(name)))
			}
			return err
		})
		if err != nil {
			panic(err) // the templates are in the program
		}
	}
	all := []fs.FS{templates}
	if others != nil {
		all = append(all, others)
	}
	for _, in := range all {
		each(in, func(name, folder string) {
			if folder == shared {
				template.Must(parts.ParseFS(in, name))
			}
		})
	}
	for _, in := range all {
		each(in, func(name, folder string) {
			if folder != shared {
				pages[strings.TrimSuffix(path.Base(name), ".html")] = sync.OnceValue(func() *template.Template {
					return template.Must(template.Must(parts.Clone()).ParseFS(in, name))
				})
			}
		})
	}
	return pages
}

// Page is what every page has beside its own Data.
type Page struct {
	Title string
	// Live are the topics that the page shows, as a query such as devices=hall&readings; empty if nothing is live. See static/stream.js.
	Live template.URL
	// At is the position of the state that the page shows, or an older one.
	At      string
	User    domain.User
	Path    string // of the request, with its query
	Unsaved bool   // the page shows a form again whose input is not saved
	Menu    []menuGroup
	Message string // what is wrong with the request as a whole
	Notice  string // what the request before has done
	Left    string // what the page leaves out of the entity that it shows
	Version string
	Node    string // the name of the node; empty if it has none
	May     rights // of the user
	Data    any
}

// rights are the rights of a user that templates ask for.
type rights struct{ Read, Post, Change, Audit, Administer bool }

func rightsOf(role domain.Role) rights {
	return rights{
		Read: role.May(domain.MayRead), Post: role.May(domain.MayPost), Change: role.May(domain.MayChange),
		Audit: role.May(domain.MayAudit), Administer: role.May(domain.MayAdminister),
	}
}

// MenuItem is a page in the menu, with the right that it needs. Icon is the name of its picture; see the template icon. Group is the title
// of its group, which has the pages with that title that follow each other.
type MenuItem struct {
	Path, Label, Icon, Group string
	Right                    domain.Right
}

// menuGroup are pages of the menu with one title, which may be empty.
type menuGroup struct {
	Title   string
	Entries []menuEntry
}

type menuEntry struct {
	Path, Label, Icon string
	Current           bool
}

// menuOf returns the menu of a role, on the page at a path.
func menuOf(items []MenuItem, role domain.Role, at string) (groups []menuGroup) {
	longest := "" // the page in the menu that the path is, or is below
	for _, m := range items {
		if at == m.Path || m.Path != "/" && strings.HasPrefix(at, m.Path+"/") && len(m.Path) > len(longest) {
			longest = m.Path
		}
	}
	for _, m := range items {
		if !role.May(m.Right) {
			continue
		}
		if n := len(groups); n == 0 || groups[n-1].Title != m.Group {
			groups = append(groups, menuGroup{Title: m.Group})
		}
		last := &groups[len(groups)-1]
		last.Entries = append(last.Entries, menuEntry{m.Path, m.Label, m.Icon, m.Path == longest})
	}
	return groups
}

// Show answers with a page. name is that of its template. It returns an error, as the other answers
// do, if there is nothing of the page yet.
func (s *Site) Show(c *gin.Context, status int, name string, p Page) error {
	u, known := User(c)
	shared, _ := c.Value("shared").(*sharedPage)
	if p.Live == "" || status != http.StatusOK {
		shared = nil
	}
	if shared != nil {
		u, known = domain.User{Role: u.Role}, false // the page is for all users with this role
	}
	p.At, p.Message = c.GetString("at"), Sentence(p.Message)
	p.User, p.May, p.Path, p.Version = u, rightsOf(u.Role), c.Request.URL.RequestURI(), s.Version
	p.Node, p.Unsaved = s.Node, c.Request.Method == http.MethodPost
	if known && !u.MustChange {
		p.Menu = menuOf(s.Menu, u.Role, c.Request.URL.Path)
	}
	if p.Notice == "" {
		p.Notice = s.notice(c)
	}
	body, err := s.render(c, name, p)
	switch {
	case name != "error" && errors.Is(err, errLongPage):
		return s.ShowError(c, http.StatusInternalServerError,
			fmt.Sprintf("This page would be longer than %s. Ask the API for what it shows.", ShowBytes(mostPage)))
	case name != "error" && domain.CodeOf(err) == domain.Unavailable:
		return err
	case err != nil:
		s.Logger.Error("page not rendered", "page", name, "error", err)
		c.String(http.StatusInternalServerError, "this page cannot be shown; the log of the program says why\n")
		return nil
	}
	packed := len(body) > 1<<10 && acceptsGzip(c)
	if packed {
		body = pack(body)
	}
	if shared != nil && len(body) <= smallPage {
		s.live.keep(shared, body, packed) // before this browser gets it, which may be slow
	}
	writePage(c, status, body, packed)
	return nil
}

func acceptsGzip(c *gin.Context) bool {
	return strings.Contains(c.GetHeader("Accept-Encoding"), "gzip")
}

func pack(text []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
	_, _ = z.Write(text)                                 // a buffer takes all
	_ = z.Close()
	return packed.Bytes()
}

// writePage answers with the text of a page; packed says that it is compressed.
func writePage(c *gin.Context, status int, text []byte, packed bool) {
	c.Header("Vary", "Accept-Encoding, HX-Request")
	c.Header("Content-Type", "text/html; charset=utf-8")
	if packed {
		c.Header("Content-Encoding", "gzip")
	}
	c.Header("Content-Length", strconv.Itoa(len(text)))
	c.Status(status)
	_, _ = c.Writer.Write(text) // it fails if the browser is gone, and then no answer can reach it
}

// Fail answers with the page for an error, and ends the request.
func (s *Site) Fail(c *gin.Context, err error) {
	c.Abort()
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code == domain.Internal {
		s.Logger.Error("request failed", "service", s.Service, "path", c.Request.URL.Path, "error", err)
		e = domain.Errorf(domain.Internal, "something went wrong here; the log of the program says what")
	}
	_ = s.ShowError(c, StatusOf(e.Code), e.Message) // it has logged why
}

// ShowError answers with a page that says what is wrong.
func (s *Site) ShowError(c *gin.Context, status int, message string) error {
	return s.Show(c, status, "error", Page{Title: http.StatusText(status), Message: message})
}

// Sentence is a message of the API as a sentence: those begin with a small letter and have no full stop.
func Sentence(message string) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(message)
	message = string(unicode.ToUpper(first)) + message[size:]
	if !strings.ContainsAny(message[len(message)-1:], ".!?:)>=") {
		message += "."
	}
	return message
}

// NotFound answers for a page that does not exist.
func (s *Site) NotFound(c *gin.Context) error {
	if !c.IsAborted() {
		return s.ShowError(c, http.StatusNotFound, fmt.Sprintf("There is no page %s. Choose one from the menu.", c.Request.URL.Path))
	}
	return nil
}

// StatusOf is the status of a page for an error that a service has not answered.
func StatusOf(code domain.Code) int {
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
	case domain.TooLarge:
		return http.StatusRequestEntityTooLarge
	case domain.TooMany:
		return http.StatusTooManyRequests
	case domain.Unavailable:
		return http.StatusServiceUnavailable
	case domain.Full:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// Redirect sends a browser to another page of the console after a form was taken.
func (s *Site) Redirect(c *gin.Context, to string) error {
	c.Redirect(http.StatusSeeOther, to)
	return nil
}

// Done is redirect with a notice that the next page shows once.
func (s *Site) Done(c *gin.Context, to, notice string, args ...any) error {
	if err := s.Sessions.Keep(c, keyNotice, fmt.Sprintf(notice, args...)); err != nil {
		s.Logger.Warn("a notice is not shown", "error", err)
	}
	return s.Redirect(c, to)
}

func (s *Site) notice(c *gin.Context) string {
	if _, known := User(c); !known || IsLive(c) || c.Request.Method == http.MethodHead {
		return ""
	}
	text, err := s.Sessions.Take(c, keyNotice)
	if err != nil {
		s.Logger.Warn("a notice is shown again", "error", err)
	}
	return text
}

// functions are those of the templates. A template calls these, and fields that are functions, but no method: if it could, the linker would
// keep each exported method of the program.
var functions = template.FuncMap{
	"asset": static.Path,
	"time":  showTime,
	"join":  strings.Join,
	"bytes": ShowBytes,
	"plural": func(n int, one, many string) string {
		if n == 1 {
			return one
		}
		return many
	},
	"about":   domain.Role.About,
	"field":   newField,
	"inputID": inputID,
	"hidden":  func(answer string) bool { return answer == domain.HiddenAnswer },
	"input":   (*Form).Field,
}

// showTime shows a time in milliseconds since the Unix epoch; the script shows it in the time zone of the browser.
func showTime(ms int64) template.HTML {
	if ms == 0 {
		return "never"
	}
	t := time.UnixMilli(ms).UTC()
	at, text := t.Format("2006-01-02T15:04:05.000Z"), t.Format("2006-01-02 15:04:05 UTC")
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, at, text)) //nolint:gosec // digits only
}

// ShowBytes shows a number of bytes.
func ShowBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/(1<<10), 0
	for value >= 1<<10 && unit < 3 {
		value, unit = value/(1<<10), unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[unit])
}

// Refuse answers for an error: with again, which shows the form with the message, if the user can correct the error.
func (s *Site) Refuse(c *gin.Context, err error, again func(message string) error) error {
	switch domain.CodeOf(err) {
	case domain.Invalid, domain.Conflict, domain.NotFound, domain.TooLarge, domain.Locked, domain.TooMany, domain.Unavailable, domain.Full:
		return again(err.Error())
	}
	return err
}
