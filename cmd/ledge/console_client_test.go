package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console"
)

// consoleClient uses the console as a browser without scripts does.
type consoleClient struct {
	base   string
	cookie *http.Cookie
	client *http.Client
}

func newConsoleClient(p *process) *consoleClient {
	return &consoleClient{base: p.console, client: &http.Client{
		Timeout: hangs, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// page is an answer with its body.
type page struct {
	*http.Response
	text string
}

func (c *consoleClient) send(method, path string, form url.Values, header ...string) page {
	r, err := http.NewRequest(method, c.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		panic(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if c.cookie != nil {
		r.AddCookie(c.cookie)
	}
	return c.do(r)
}

// do sends a request and reads the answer.
func (c *consoleClient) do(r *http.Request) page {
	resp, err := c.client.Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	for _, one := range resp.Cookies() {
		if strings.HasSuffix(one.Name, "ledge-session") {
			c.cookie = one
		}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return page{resp, ""}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	return page{resp, string(text)}
}

func (c *consoleClient) get(path string) page { return c.send(http.MethodGet, path, nil) }

func (c *consoleClient) post(path string, form url.Values) page {
	if form == nil {
		form = url.Values{}
	}
	return c.send(http.MethodPost, path, form)
}

func (c *consoleClient) login(t *testing.T, name, password string) {
	t.Helper()
	if got := c.post("/login", url.Values{"username": {name}, "password": {password}}); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("login of %s: %s\n%s", name, got.Status, got.text)
	}
}

// consoleRoutes are all routes of the console, with the right of each.
func consoleRoutes() map[string]domain.Right {
	return console.New(console.Options{Options: handlers.Options{Logger: slog.New(slog.DiscardHandler)}}).Routes()
}
