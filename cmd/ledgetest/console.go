package ledgetest

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console"
	"ledge/handlers/console/web"
)

// ConsolePassword is the password of each user in the console's tests.
const ConsolePassword = "a password for tests"

// AddConsoleUser adds the user test-ROLE, unless there is one.
func (p *Node) AddConsoleUser(tb testing.TB, role domain.Role) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "password")
	if err := os.WriteFile(file, []byte(ConsolePassword+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	_, stderr, code := Run(tb, "user", "add", "test-"+string(role), "--data-dir", p.Dir, "--role", string(role), "--password-file", file)
	if code != 0 && !strings.Contains(stderr, "exist") {
		tb.Fatal(stderr)
	}
}

// ConsoleClient uses the console as a browser without scripts does.
type ConsoleClient struct {
	Base   string
	Cookie *http.Cookie
	Client *http.Client
}

// NewConsoleClient returns a client of the console without a login. It follows no redirects.
func NewConsoleClient(p *Node) *ConsoleClient {
	return &ConsoleClient{Base: p.Console, Client: &http.Client{
		Timeout: Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Page is an answer with its body.
type Page struct {
	*http.Response
	Text string
}

// Send sends a form, or asks for a page, and returns the page.
func (c *ConsoleClient) Send(method, path string, form url.Values, header ...string) Page {
	r, err := http.NewRequest(method, c.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		panic(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if c.Cookie != nil {
		r.AddCookie(c.Cookie)
	}
	return c.Do(r)
}

// Do sends a request and reads the answer.
func (c *ConsoleClient) Do(r *http.Request) Page {
	resp, err := c.Client.Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	for _, one := range resp.Cookies() {
		if strings.Contains(one.Name, "ledge-session") {
			c.Cookie = one
		}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return Page{resp, ""}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	return Page{resp, string(text)}
}

// Get asks for a page.
func (c *ConsoleClient) Get(path string) Page { return c.Send(http.MethodGet, path, nil) }

// Post sends a form; nil is an empty one.
func (c *ConsoleClient) Post(path string, form url.Values) Page {
	if form == nil {
		form = url.Values{}
	}
	return c.Send(http.MethodPost, path, form)
}

// Login logs in; the client keeps the cookie.
func (c *ConsoleClient) Login(t *testing.T, name, password string) {
	t.Helper()
	if got := c.Post("/login", url.Values{"username": {name}, "password": {password}}); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("login of %s: %s\n%s", name, got.Status, got.Text)
	}
}

// ConsoleRoutes are all routes of the console, with the right of each.
func ConsoleRoutes() map[string]domain.Right {
	return console.New(console.Options{Options: web.Options{Options: handlers.Options{Logger: slog.New(slog.DiscardHandler)}}}).Routes()
}

// allKinds is a profile with a resource of each kind of value.
const allKinds = `name: hall-sensor
deviceResources:
  - {name: temperature, description: In the middle of the hall, properties: {valueType: Float64, readWrite: RW, units: °C}}
  - {name: image, properties: {valueType: Binary, readWrite: R, mediaType: image/jpeg}}
  - {name: people, properties: {valueType: Uint16, readWrite: R}}
  - {name: status, properties: {valueType: Object, readWrite: RW}}
  - {name: note, properties: {valueType: String, readWrite: RW}}
  - {name: clip, properties: {valueType: Binary, readWrite: R, mediaType: video/mp4}}
  - {name: sound, properties: {valueType: Binary, readWrite: R, mediaType: audio/wav}}
  - {name: firmware, properties: {valueType: Binary, readWrite: R}}
`

// AddSensorProfile adds the profile hall-sensor, which has a resource of each kind of value.
func AddSensorProfile(p *Node) {
	p.TB.Helper()
	if a := p.Upload("file", allKinds); a.Status != http.StatusCreated {
		p.TB.Fatalf("profile: %d %s", a.Status, a.Body)
	}
}

// SensorJSON is a device with the profile of allKinds. more are further fields, each with a comma before it.
func SensorJSON(name, more string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","device":{"name":%q,"adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"hall-sensor","protocolName":"rest","protocols":{"rest":{}}%s}}`, name, more)
}

// AddSensor adds a device with the profile hall-sensor; see SensorJSON.
func AddSensor(p *Node, name, more string) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+SensorJSON(name, more)+"]", http.StatusCreated)
}

// PostTo posts a value of a resource of a device.
func PostTo(p *Node, device, resource, contentType, body string) {
	p.TB.Helper()
	if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/"+device+"/"+resource, contentType, body); a.Status != http.StatusOK {
		p.TB.Fatalf("%s: %d %s", resource, a.Status, a.Body)
	}
}

// Listen opens a live stream of the console, as a browser does for its pages, and chooses its topics, such as devices=hall. The stream ends
// with ctx. told gets the data of each event, and is closed at the end. The status of a stream that is refused is not 200.
func (c *ConsoleClient) Listen(ctx context.Context, topics string) (told <-chan string, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/live", http.NoBody)
	if err != nil {
		return nil, 0, err
	}
	r.AddCookie(c.Cookie)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, 0, err
	}
	messages, lines := make(chan string, 100), bufio.NewScanner(resp.Body)
	data := func() (text string, ok bool) {
		for lines.Scan() {
			if text, ok = strings.CutPrefix(lines.Text(), "data: "); ok {
				return text, true
			}
		}
		return "", false
	}
	begin, ok := data()
	if resp.StatusCode != http.StatusOK || !ok {
		resp.Body.Close()
		return nil, resp.StatusCode, lines.Err()
	}
	go func() {
		defer close(messages)
		defer resp.Body.Close()
		for text, ok := data(); ok; text, ok = data() {
			select {
			case messages <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	form, err := url.ParseQuery(topics + "&" + begin)
	if err != nil {
		return nil, 0, err
	}
	form.Del("user")
	if got := c.Post("/live", form); got.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("topics %s: %s %s", topics, got.Status, got.Text)
	}
	return messages, http.StatusOK, nil
}

// NewRole returns a client of the console that has logged in with a role.
func (p *Node) NewRole(t *testing.T, role domain.Role) *ConsoleClient {
	t.Helper()
	p.AddConsoleUser(t, role)
	c := NewConsoleClient(p)
	c.Login(t, "test-"+string(role), ConsolePassword)
	return c
}

// Want fails where a page has another status, or does not have a text.
func Want(got Page, t *testing.T, status int, texts ...string) {
	t.Helper()
	if got.StatusCode != status {
		t.Fatalf("%s %s: %s, want %d\n%s", got.Request.Method, got.Request.URL, got.Status, status, got.Text)
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(got.Text), text) {
			t.Errorf("%s %s: has no %q\n%s", got.Request.Method, got.Request.URL, text, got.Text)
		}
	}
}

// FindBrowser returns the path of Chromium, or skips the test.
func FindBrowser() string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
