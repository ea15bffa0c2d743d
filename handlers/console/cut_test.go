package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"ledge/domain"
	"ledge/handlers"
)

// TestCut cuts texts, lists and mappings of a device, and holds that a page can say what is left out, and that the copy shares nothing with the
// device.
func TestCut(t *testing.T) {
	labels := make([]string, 120)
	for i := range labels {
		labels[i] = fmt.Sprint("label-", i)
	}
	d := domain.Device{
		Name: "hall", Description: strings.Repeat("é", shownText), Labels: labels, Location: json.RawMessage(`{"floor":1}`),
		Protocols: map[string]map[string]string{"rest": {"host": "a"}}, AutoEvents: []domain.AutoEvent{{Interval: "1s"}}, Created: 7,
	}
	k := forPage()
	got := cutWith(k, &d)
	want := "This page leaves out 20000 of 40000 bytes of description, 70 of 120 entries of labels. All of it is at /x."
	if note := k.note("/x"); note != want {
		t.Errorf("note: %s", note)
	}
	if !slices.Equal(got.Labels, labels[:shownEntries]) || got.Protocols["rest"]["host"] != "a" || got.AutoEvents[0].Interval != "1s" || got.Created != 7 ||
		string(got.Location) != `{"floor":1}` || got.Description != strings.Repeat("é", shownText/2)+"…" {
		t.Errorf("got %+v", got)
	}
	if unsafe.StringData(got.Name) == unsafe.StringData(d.Name) {
		t.Error("the copy has the text of the device")
	}
	if row := cutRow(&d); len(row.Labels) != rowEntries+1 || row.Labels[rowEntries] != "and 100 more" {
		t.Errorf("row: %q", row.Labels)
	}
	if k = forPage(); k.note("/x") != "" || cutWith(k, &domain.Device{Name: "hall"}).Name != "hall" || k.note("/x") != "" {
		t.Error("a small device is cut")
	}
}

// accounts are 600 users and as many tokens.
type accounts struct{ people }

func (accounts) Users() ([]domain.User, error)                                  { return make([]domain.User, 600), nil }
func (accounts) Tokens() ([]domain.Token, error)                                { return make([]domain.Token, 600), nil }
func (accounts) LastUsed(string) int64                                          { return 0 }
func (accounts) AddToken(context.Context, string, domain.Token) (string, error) { return "", nil }
func (accounts) RotateToken(context.Context, string, string, time.Duration) (string, error) {
	return "", nil
}
func (accounts) RemoveToken(context.Context, string, string) error { return nil }

// TestAccountsAreBounded lists more users and tokens than a page has.
func TestAccountsAreBounded(t *testing.T) {
	s := fixture(t, nil)
	cookie := login(t, s)
	all := accounts{s.Users.(people)}
	s.Users, s.Tokens = all, all
	got := get(s, "/users", cookie).Body.String()
	if strings.Count(got, `<th scope="row">`) != 2*mostAccounts || !strings.Contains(got, "100 more users are not listed") || !strings.Contains(got, "100 more tokens are not listed") {
		t.Errorf("%d rows", strings.Count(got, `<th scope="row">`))
	}
}

// TestChangesAreCut shows a change of long values, and one of many.
func TestChangesAreCut(t *testing.T) {
	for _, n := range []int{1, 90} {
		was, is := map[string]string{}, map[string]string{}
		for i := range n {
			was[fmt.Sprint(i)], is[fmt.Sprint(i)] = "1", strings.Repeat("x", 2*mostFieldText)
		}
		in := func(of map[string]string) domain.Device {
			return domain.Device{Protocols: map[string]map[string]string{"rest": of}}
		}
		changes, err := domain.Diff(in(was), in(is))
		if err != nil {
			t.Fatal(err)
		}
		fields, bytes := fieldsOf(changes), 0
		for _, f := range fields {
			bytes += len(f.Was) + len(f.Is)
		}
		if last := fields[len(fields)-1]; bytes > mostChangeText+2*mostFieldText || n == 1 && !strings.HasSuffix(last.Is, "…") || n > 1 && last.Name != "…" {
			t.Errorf("%d fields of %d, %d bytes", len(fields), n, bytes)
		}
	}
}

// TestLargeForms opens the form of a device that is too large for one.
func TestLargeForms(t *testing.T) {
	s := fixture(t, nil)
	c := testContext(t, s)
	table := largeDevice{size: mostForm + 1}
	state := func() (domain.View, func()) { return domain.View{State: domain.State{Devices: table}}, func() {} }
	_, _, err := readForm(s.memory(c), state, devices, "device", "hall", "/x")
	if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), "too large for a page") {
		t.Errorf("got %v", err)
	}
	table.size = mostForm
	if d, row, err := readForm(s.memory(c), func() (domain.View, func()) { return domain.View{State: domain.State{Devices: table}}, func() {} }, devices, "device", "hall", "/x"); err != nil || !row.OK || d.Name != "hall" {
		t.Errorf("got %v, %v", d, err)
	}
}

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

// TestCutRoom cuts lists within lists to the bytes of all.
func TestCutRoom(t *testing.T) {
	protocols := map[string]map[string]string{}
	for i := range 40 {
		one := map[string]string{}
		for j := range 40 {
			one[fmt.Sprint(j)] = strings.Repeat("x", shownText/2)
		}
		protocols[fmt.Sprint(i)] = one
	}
	k := forPage()
	text, err := json.Marshal(cutWith(k, &domain.Device{Protocols: protocols}))
	if err != nil || len(text) > 2*shownBytes || !strings.Contains(k.note("/x"), "entries of protocols") {
		t.Errorf("%d bytes, %s, %v", len(text), k.note("/x"), err)
	}
}

// TestLongPage shows a page that is too long: its place is taken by one that says so. A form may be as long as what its user has sent.
func TestLongPage(t *testing.T) {
	s := fixture(t, nil)
	c := testContext(t, s)
	form := Page{Data: profileForm{Name: "p", YAML: strings.Repeat("x", mostPage)}}
	if text, err := s.render(c, "profile_form", form); err != errLongPage || len(text) > mostPage {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	s.show(c, http.StatusOK, "profile_form", form)
	if c.Writer.Status() != http.StatusInternalServerError || c.Writer.Size() > smallPage {
		t.Errorf("%d with %d bytes", c.Writer.Status(), c.Writer.Size())
	}
	s.ResourceBytes = 4 * mostPage
	c.Request.Method, c.Request.ContentLength = http.MethodPost, mostPage
	if _, err := s.render(c, "profile_form", form); err != nil {
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
	long := Page{Data: profileForm{Name: "p", YAML: strings.Repeat("x", 2*smallPage)}}
	for _, one := range []struct {
		page Page
		want int
	}{{Page{Data: profileForm{}}, http.StatusOK}, {long, http.StatusServiceUnavailable}} {
		c := testContext(t, s)
		if s.show(c, http.StatusOK, "profile_form", one.page); c.Writer.Status() != one.want {
			t.Errorf("got %d, want %d", c.Writer.Status(), one.want)
		}
	}
	held.Release()
	c := testContext(t, s)
	s.answers = handlers.NewAnswers(handlers.Options{BodyMemory: 4 * pageWork})
	if s.show(c, http.StatusOK, "profile_form", long); c.Writer.Status() != http.StatusOK {
		t.Errorf("got %d after the other page", c.Writer.Status())
	}
}
