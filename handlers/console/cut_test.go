package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/console/web"
)

// accounts are 600 users and as many tokens.
type accounts struct{}

func (accounts) User(name string) (domain.User, bool) {
	return domain.User{Name: name, Role: domain.Admin, Credential: "1"}, true
}

func (accounts) Users() ([]domain.User, error) { return make([]domain.User, 600), nil }
func (accounts) AddUser(context.Context, string, string, domain.Role, string, bool) error {
	return nil
}
func (accounts) SetRole(context.Context, string, string, domain.Role) error      { return nil }
func (accounts) SetPassword(context.Context, string, string, string, bool) error { return nil }
func (accounts) RemoveUser(context.Context, string, string) error                { return nil }
func (accounts) Tokens() ([]domain.Token, error)                                 { return make([]domain.Token, 600), nil }
func (accounts) LastUsed(string) int64                                           { return 0 }
func (accounts) AddToken(context.Context, string, domain.Token) (string, error)  { return "", nil }
func (accounts) RotateToken(context.Context, string, string, time.Duration) (string, error) {
	return "", nil
}
func (accounts) RemoveToken(context.Context, string, string) error { return nil }

// TestAccountsAreBounded lists more users and tokens than a page has.
func TestAccountsAreBounded(t *testing.T) {
	s := New(Options{Users: accounts{}, Tokens: accounts{}, Options: web.Options{
		Password: func(context.Context, string, string, string) (domain.Identity, error) { return domain.Identity{}, nil },
	}})
	defer s.Close()
	login := httptest.NewRecorder()
	form := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader("username=anna&password=right"))
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	s.ServeHTTP(login, form)
	if login.Code != http.StatusSeeOther {
		t.Fatalf("login: %d %s", login.Code, login.Body)
	}
	page, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/users", nil)
	r.AddCookie(login.Result().Cookies()[0])
	s.ServeHTTP(page, r)
	got := page.Body.String()
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
		if last := fields[len(fields)-1]; bytes > mostChangeText+2*mostFieldText || n == 1 && !strings.HasSuffix(last.Is, "…") || n > 1 && last.Field != "…" {
			t.Errorf("%d fields of %d, %d bytes", len(fields), n, bytes)
		}
	}
}
