package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// TestLargeForms opens the form of a device that is too large for one.
func TestLargeForms(t *testing.T) {
	s := fixture(t, nil)
	c := testContext(t, s)
	table := largeDevice{size: mostForm + 1}
	state := func() (domain.View, func()) { return domain.View{State: domain.State{Devices: table}}, func() {} }
	_, _, err := ReadForm(s.Memory(c), state, devices, "device", "hall", "/x")
	if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), "too large for a page") {
		t.Errorf("got %v", err)
	}
	table.size = mostForm
	state = func() (domain.View, func()) { return domain.View{State: domain.State{Devices: table}}, func() {} }
	if d, row, err := ReadForm(s.Memory(c), state, devices, "device", "hall", "/x"); err != nil || !row.OK || d.Name != "hall" {
		t.Errorf("got %v, %v", d, err)
	}
}

func devices(s domain.State) domain.Table[domain.Device] { return s.Devices }

// largeDevice is a table with a device of a size.
type largeDevice struct {
	domain.Table[domain.Device]
	size int
}

func (l largeDevice) GetWithin(name string, most int, into *domain.Device) domain.Row {
	if l.size > most {
		return domain.Row{Size: l.size}
	}
	into.Name = name
	return domain.Row{OK: true, Size: l.size}
}

// TestLongPage shows a page that is too long: its place is taken by one that says so. A form may be as long as what its user has sent.
func TestLongPage(t *testing.T) {
	s := fixture(t, nil)
	c := testContext(t, s)
	show := func(c *gin.Context, p Page) {
		s.answer(func(c *gin.Context) error { return s.Show(c, http.StatusOK, "login", p) })(c)
	}
	form := Page{Data: loginForm{Next: strings.Repeat("x", mostPage)}}
	if text, err := s.render(c, "login", form); err != errLongPage || len(text) > mostPage {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	show(c, form)
	if c.Writer.Status() != http.StatusInternalServerError || c.Writer.Size() > smallPage {
		t.Errorf("%d with %d bytes", c.Writer.Status(), c.Writer.Size())
	}
	s.ResourceBytes = 4 * mostPage
	c.Request.Method, c.Request.ContentLength = http.MethodPost, mostPage
	if _, err := s.render(c, "login", form); err != nil {
		t.Error(err)
	}
}

// TestPagesWaitForMemory holds that a page of more than smallPage waits for memory, and that one that gets none says so.
func TestPagesWaitForMemory(t *testing.T) {
	s := fixture(t, nil)
	s.answers = handlers.NewAnswers(handlers.Options{BodyMemory: 4 * pageWork, WriteTimeout: 1})
	other := testContext(t, s)
	held := s.answers.Of(other.Request)
	if err := held.Hold(2 * pageWork); err != nil {
		t.Fatal(err)
	}
	show := func(c *gin.Context, p Page) {
		s.answer(func(c *gin.Context) error { return s.Show(c, http.StatusOK, "login", p) })(c)
	}
	long := Page{Data: loginForm{Next: strings.Repeat("x", 2*smallPage)}}
	for _, one := range []struct {
		page Page
		want int
	}{{Page{Data: loginForm{}}, http.StatusOK}, {long, http.StatusServiceUnavailable}} {
		c := testContext(t, s)
		if show(c, one.page); c.Writer.Status() != one.want {
			t.Errorf("got %d, want %d", c.Writer.Status(), one.want)
		}
	}
	held.Release()
	c := testContext(t, s)
	s.answers = handlers.NewAnswers(handlers.Options{BodyMemory: 4 * pageWork})
	if show(c, long); c.Writer.Status() != http.StatusOK {
		t.Errorf("got %d after the other page", c.Writer.Status())
	}
}
