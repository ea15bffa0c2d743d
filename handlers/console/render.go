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
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/static"
)

//go:embed templates
var templates embed.FS

// parsePages returns a template for each file below templates but the layout and the parts, which all of them share.
func parsePages() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(functions).ParseFS(templates, "templates/shared/layout.html", "templates/shared/parts.html"))
	pages := map[string]*template.Template{}
	err := fs.WalkDir(templates, "templates", func(name string, entry fs.DirEntry, err error) error {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if err != nil || entry.IsDir() || page == "layout" || page == "parts" {
			return err
		}
		pages[page] = template.Must(template.Must(shared.Clone()).ParseFS(templates, name))
		return nil
	})
	if err != nil {
		panic(err) // the templates are in the program
	}
	return pages
}

// Page is what every page has beside its own Data.
type Page struct {
	Title string
	// Live are the topics that change what the page shows, as the query of /live; empty if nothing is live.
	Live template.URL
	// At is the position of the state that the page shows, or an older one, for /live.
	At      string
	User    domain.User
	Path    string // of the request, with its query
	Menu    []menuEntry
	Message string // what is wrong with the request as a whole
	Notice  string // what the request before has done
	Left    string // what the page leaves out of the entity that it shows
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
	shared, _ := c.Value("shared").(*sharedPage)
	if p.Live == "" || status != http.StatusOK {
		shared = nil
	}
	if shared != nil {
		u, known = domain.User{Role: u.Role}, false // the page is for all users with this role
	}
	p.At, p.Message = c.GetString("at"), sentence(p.Message)
	p.User, p.Path, p.Version = u, c.Request.URL.RequestURI(), s.Version
	if known && !u.MustChange {
		p.Menu = menuOf(u.Role, c.Request.URL.Path)
	}
	if p.Notice == "" {
		p.Notice = s.notice(c)
	}
	body, err := s.render(c, name, p)
	switch {
	case name != "error" && errors.Is(err, errLongPage):
		s.showError(c, http.StatusInternalServerError, fmt.Sprintf("This page would be longer than %s. Ask the API for what it shows.", showBytes(mostPage)))
		return
	case name != "error" && domain.CodeOf(err) == domain.Unavailable:
		s.fail(c, err)
		return
	case err != nil:
		s.Logger.Error("page not rendered", "page", name, "error", err)
		c.String(http.StatusInternalServerError, "this page cannot be shown; the log of the program says why\n")
		return
	}
	packed := len(body) > 1<<10 && acceptsGzip(c)
	if packed {
		body = pack(body)
	}
	if shared != nil && len(body) <= smallPage {
		s.live.keep(shared, body, packed) // before this browser gets it, which may be slow
	}
	writePage(c, status, body, packed)
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

// sentence is a message of the API as a sentence: those begin with a small letter and have no full stop.
func sentence(message string) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(message)
	message = string(unicode.ToUpper(first)) + message[size:]
	if !strings.ContainsAny(message[len(message)-1:], ".!?:)>") {
		message += "."
	}
	return message
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
	"asset": static.Path,
	"time":  showTime,
	"join":  strings.Join,
	"bytes": showBytes,
	"plural": func(n int, one, many string) string {
		if n == 1 {
			return one
		}
		return many
	},
	"field": newField,
	"first": func(list []string) []string { return list[:min(len(list), rowEntries)] },
	"more":  func(list []string, left int) int { return max(0, len(list)-rowEntries) + left },
}

// showTime shows a time in milliseconds since the Unix epoch; the script shows it in the time zone of the browser.
func showTime(ms int64) template.HTML {
	if ms == 0 {
		return "never"
	}
	t := time.UnixMilli(ms).UTC()
	at, text := t.Format("2006-01-02T15:04:05.000Z"), t.Format("Mon 2006-01-02 15:04:05 UTC")
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, at, text)) //nolint:gosec // digits and a weekday only
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

// field is one input of a form, with its label and what is wrong with it. See the template of the same name.
type field struct {
	Name, Label, Value string
	// Type is that of the input, or textarea, or select, which has Options.
	Type     string
	Required bool
	Error    string
	Hint     string
	// Options are those of a select, or suggestions for an input.
	Options []option
	// Autocomplete is the attribute of the same name.
	Autocomplete string
}

// ID is that of the input in the page.
func (f field) ID() string {
	return "f-" + strings.NewReplacer("[", "-", "]", "-", ".", "-").Replace(f.Name)
}

// Described are the ids of what explains the input.
func (f field) Described() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

type option struct {
	Value, Label string
}

func options(values ...string) []option {
	all := make([]option, len(values))
	for i, v := range values {
		all[i] = option{v, v}
	}
	return all
}

// newField makes a field for the templates: more has pairs of an attribute's name and its value.
func newField(name, label, value string, more ...any) (f field, err error) {
	f = field{Name: name, Label: label, Value: value, Type: "text"}
	for i := 0; i+1 < len(more); i += 2 {
		text, _ := more[i+1].(string)
		switch more[i] {
		case "type":
			f.Type = text
		case "error":
			f.Error = text
		case "hint":
			f.Hint = text
		case "autocomplete":
			f.Autocomplete = text
		case "required":
			f.Required, _ = more[i+1].(bool)
		case "options":
			f.Options, _ = more[i+1].([]option)
		default:
			return f, fmt.Errorf("field %s: %v is no attribute", name, more[i])
		}
	}
	return f, nil
}

const (
	// mostOffset bounds the position in a list.
	mostOffset = 1_000_000
	// mostFilter bounds the text of a filter, in bytes.
	mostFilter = 300
	// mostSuggested bounds the entities that suggestions are taken from.
	mostSuggested = 300
)

// listPager is the position in a list, with links to its neighbours.
type listPager struct {
	Total, First, Last int
	Previous, Next     string // addresses; empty if there is no such page
}

// offset reads the position of a list from the query.
func offset(c *gin.Context) int {
	n, err := strconv.Atoi(c.Query("offset"))
	if err != nil {
		return 0
	}
	return min(max(n, 0), mostOffset)
}

// pagerOf describes the rows from offset on. examined is how many entries the page has searched.
func pagerOf(c *gin.Context, total, examined int) listPager {
	at := offset(c)
	p := listPager{Total: total, First: min(at+1, total), Last: min(at+examined, total)}
	if at > 0 {
		p.Previous = withOffset(c, max(0, at-pageRows))
	}
	if p.Last < total && examined > 0 {
		p.Next = withOffset(c, p.Last)
	}
	return p
}

func withOffset(c *gin.Context, at int) string {
	q := c.Request.URL.Query()
	q.Del("offset")
	if at > 0 {
		q.Set("offset", strconv.Itoa(at))
	}
	if len(q) == 0 {
		return c.Request.URL.Path
	}
	return c.Request.URL.Path + "?" + q.Encode()
}

// filterText reads a filter from the query.
func filterText(c *gin.Context, name string) string {
	text := strings.TrimSpace(c.Query(name))
	return text[:min(len(text), mostFilter)]
}

// indexFilters makes a filter of each parameter of the query that is not empty.
func indexFilters(c *gin.Context, indexes ...string) (list []domain.Filter) {
	for _, index := range indexes {
		if text := filterText(c, index); text != "" {
			list = append(list, domain.Filter{Index: index, Value: text})
		}
	}
	return list
}

// failList answers for a list that cannot be read. For a position after the end it leads to the begin of the list.
func (s *Console) failList(c *gin.Context, err error) {
	if domain.CodeOf(err) == domain.OutOfRange && offset(c) > 0 {
		s.redirect(c, withOffset(c, 0))
		return
	}
	s.fail(c, err)
}

// lockOptions are the admin states to choose from.
func lockOptions() []option {
	return []option{{domain.StateUnlocked, "UNLOCKED: in use"}, {domain.StateLocked, "LOCKED: not in use"}}
}
