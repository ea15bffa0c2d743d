package console

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
	"ledge/handlers/entities"
)

// giveBack gives back the memory for large entities that a request holds, at its end.
func (s *Console) giveBack(c *gin.Context) {
	m := s.answers.Of(c.Request)
	c.Set("memory", m)
	defer m.Release()
	c.Next()
}

// memory returns the memory for large entities that a request holds. A page cuts the entities that it has read before it holds more.
func (s *Console) memory(c *gin.Context) *answers.Memory {
	if m, ok := c.Value("memory").(*answers.Memory); ok {
		return m
	}
	return s.answers.Of(c.Request)
}

// list reads a page of a list, one entity at a time, with memory for each that is large. It returns what cut keeps of each, which must share no
// text with the entity, and how many there are on all pages.
func list[S, R any](m *answers.Memory, state entities.Reader, kind entities.Kind[S], page domain.Page, filters []domain.Filter,
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

// The kinds of entities that pages list.
var (
	profileKind      = entities.Kind[domain.Profile]{List: domain.ListProfiles, Table: profiles}
	serviceKind      = entities.Kind[domain.DeviceService]{List: domain.ListServices, Table: services}
	watcherKind      = entities.Kind[domain.ProvisionWatcher]{List: domain.ListWatchers, Table: watchers}
	subscriptionKind = entities.Kind[domain.Subscription]{List: domain.ListSubscriptions, Table: subscriptions}
	notificationKind = entities.Kind[domain.Notification]{List: domain.ListNotifications, Table: notifications}
)

func profiles(s domain.State) domain.Table[domain.Profile]           { return s.Profiles }
func services(s domain.State) domain.Table[domain.DeviceService]     { return s.Services }
func watchers(s domain.State) domain.Table[domain.ProvisionWatcher]  { return s.Watchers }
func subscriptions(s domain.State) domain.Table[domain.Subscription] { return s.Subscriptions }
func notifications(s domain.State) domain.Table[domain.Notification] { return s.Notifications }

func devices(s domain.State) domain.Table[domain.Device] { return s.Devices }

// mostForm bounds the entities that a form has whole, in bytes as domain.Row counts them.
const mostForm = 2 * mostPage

// read reads an entity that a page is about, with memory for it if it is large. what is the kind of entity, in words for the error.
func read[S any](m *answers.Memory, state entities.Reader, table func(domain.State) domain.Table[S], what, name string) (one S, row domain.Row, err error) {
	row, err = entities.LookUp(m, state, table, name, &one)
	if err == nil && !row.OK {
		err = domain.Errorf(domain.NotFound, "There is no %s %.80q. It may have been deleted.", what, name)
	}
	return one, row, err
}

// readForm is read for a form, which shows all of the entity. path is that of the entity at the API, for the error.
func readForm[S any](m *answers.Memory, state entities.Reader, table func(domain.State) domain.Table[S],
	what, name, path string) (one S, row domain.Row, err error) {
	one, row, err = read(m, state, table, what, name)
	if err == nil && row.Size > mostForm {
		one, err = *new(S), domain.Errorf(domain.Invalid, "the %s %.80q is too large for a page: it takes more than %s. It is at %s of the API.",
			what, name, showBytes(mostForm), path)
	}
	return one, row, err
}

const (
	// mostPage bounds the text of a page, in bytes. smallPage is the length up to which a page takes no memory of [answers.Shared].
	mostPage, smallPage = 2 << 20, 64 << 10
	// pageWork is what a page of more than smallPage takes: its text, the text as its buffer grows, and compressed.
	pageWork = 2 * mostPage
	// logWork is what reading the log takes for a page: the largest event, or as many events as are read at once.
	logWork = 16 << 20
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
func (s *Console) render(c *gin.Context, name string, p Page) ([]byte, error) {
	t := &pageText{most: mostPage}
	if sent := c.Request.ContentLength; c.Request.Method == http.MethodPost && sent > 0 {
		t.most += 2 * int(min(sent, max(s.BodyBytes, s.UploadBytes)+bodies.FormBytes))
	}
	t.hold = func() error { return s.memory(c).Hold(int64(t.most - mostPage + pageWork)) }
	err := s.pages[name].ExecuteTemplate(t, "layout", p)
	return t.text, err
}
