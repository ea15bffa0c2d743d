package web

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
	"ledge/handlers/entities"
)

// Memory returns the memory for large entities that a request holds. A page cuts the entities that it has read before it holds more.
func (s *Site) Memory(c *gin.Context) *answers.Memory {
	if m, ok := c.Value("memory").(*answers.Memory); ok {
		return m
	}
	return s.answers.Of(c.Request)
}

// List reads a page of a list, one entity at a time, with memory for each that is large. It returns the part of each that cut keeps, which
// must share no text with the entity, and how many there are on all pages.
func List[S, R any](m *answers.Memory, state entities.Reader, kind entities.Kind[S], page domain.Page, filters []domain.Filter,
	cut func(*S) R) (rows []R, total int, err error) {
	found, err := entities.Query(state, kind, page, filters)
	if err != nil {
		return nil, 0, err
	}
	err = found.Each(m.Hold, func(one *S) error {
		rows = append(rows, cut(one))
		return nil
	})
	return rows, found.Total, err
}

// mostForm bounds the entities that a form has whole, in bytes as domain.Row counts them.
const mostForm = 2 * mostPage

// Read reads an entity that a page is about, with memory for it if it is large. what is the kind of entity, in words for the error.
func Read[S any](m *answers.Memory, state entities.Reader, table func(domain.State) domain.Table[S],
	what, name string) (one S, row domain.Row, err error) {
	row, err = entities.LookUp(m, state, table, name, &one)
	if err == nil && !row.OK {
		err = domain.Errorf(domain.NotFound, "There is no %s %.80q. It may have been deleted.", what, name)
	}
	return one, row, err
}

// ReadForm is read for a form, which shows all of the entity. path is that of the entity at the API, for the error.
func ReadForm[S any](m *answers.Memory, state entities.Reader, table func(domain.State) domain.Table[S],
	what, name, path string) (one S, row domain.Row, err error) {
	one, row, err = Read(m, state, table, what, name)
	if err == nil && row.Size > mostForm {
		one, err = *new(S), domain.Errorf(domain.Invalid, "the %s %.80q is too large for a page: it takes more than %s. It is at %s of the API.",
			what, name, ShowBytes(mostForm), path)
	}
	return one, row, err
}

const (
	// mostPage bounds the text of a page, in bytes. smallPage is the length up to which a page takes no memory of [answers.Shared].
	mostPage, smallPage = 2 << 20, 64 << 10
	// pageWork is what a page of more than smallPage takes: its text, the text as its buffer grows, and compressed.
	pageWork = 2 * mostPage
	// LogWork is what reading the log takes for a page: the largest event, or as many events as are read at once.
	LogWork = 16 << 20
)

var errLongPage = errors.New("the page is too long")

// pageText is the text of a page while it is made.
type pageText struct {
	text []byte
	most int
	hold func() error // waits for the memory of a page that is not small
	held bool
}

func (p *pageText) Write(b []byte) (int, error) {
	if len(p.text)+len(b) > p.most {
		return 0, errLongPage
	}
	if len(p.text)+len(b) > smallPage && !p.held {
		if err := p.hold(); err != nil {
			return 0, err
		}
		p.held = true
	}
	p.text = append(p.text, b...)
	return len(b), nil
}

// render makes the text of a page. A form that is shown again may be longer than other pages by what its user has sent.
func (s *Site) render(c *gin.Context, name string, p Page) ([]byte, error) {
	t := &pageText{most: mostPage}
	if sent := c.Request.ContentLength; c.Request.Method == http.MethodPost && sent > 0 {
		t.most += 2 * int(min(sent, max(s.BodyBytes, s.UploadBytes)+bodies.FormBytes))
	}
	t.hold = func() error { return s.Memory(c).Hold(int64(t.most - mostPage + pageWork)) }
	err := s.pages[name]().ExecuteTemplate(t, "layout", p)
	return t.text, err
}
