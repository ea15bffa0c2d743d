package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// openLive opens a live connection, which ends with the test.
func openLive(t *testing.T, server *httptest.Server, cookie *http.Cookie) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(cookie)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("a live connection is answered %s", answer.Status)
	}
	return answer
}

// TestLiveConnectionStaysOpen holds an idle live connection open beyond the server's time to write an answer.
func TestLiveConnectionStaysOpen(t *testing.T) {
	s := fixture(t, nil)
	s.live.beat = time.Second
	cookie := login(t, s)
	server := httptest.NewUnstartedServer(s)
	server.Config.WriteTimeout = s.live.beat * 3 / 2
	server.Start()
	defer server.Close()
	defer s.live.close()
	answer := openLive(t, server, cookie)
	beats := 0
	for lines := bufio.NewScanner(answer.Body); beats < 3 && lines.Scan(); {
		if lines.Text() == ": still here" {
			beats++
		}
	}
	if beats < 3 {
		t.Errorf("the connection ended after %d beats", beats)
	}
}

// TestLiveConnectionEndsWithRights ends live connections whose users may not listen any more, between two beats. Before, they ended with the next beat.
func TestLiveConnectionEndsWithRights(t *testing.T) {
	s := fixture(t, nil)
	s.live.beat = time.Hour
	server := httptest.NewServer(s)
	defer server.Close()
	defer s.live.close()
	users := s.Accounts.(people)
	anna := users["anna"]
	for name, lose := range map[string]func(*http.Cookie){
		"logout": func(c *http.Cookie) { post(s, "/logout", c, strings.NewReader("")) },
		"logins": func(*http.Cookie) {
			for range mostOfUser {
				login(t, s)
			}
		},
		"role": func(*http.Cookie) {
			u := anna
			u.Role = domain.Poster
			users["anna"] = u
			s.live.changed(Change{"users", "anna"})
		},
	} {
		cookie := login(t, s)
		answer := openLive(t, server, cookie)
		lose(cookie)
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		users["anna"] = anna
	}
}

// TestLiveStream chooses the topics of a stream again and again, as a browser does whose pages come and go.
func TestLiveStream(t *testing.T) {
	s := fixture(t, nil)
	s.Topics, s.Position = []string{"devices", "readings"}, func() string { return "17" }
	s.live.every = 0
	s.Accounts.(people)["bob"] = domain.User{Name: "bob", Role: domain.Admin, Credential: "1"}
	cookie := login(t, s)
	server := httptest.NewServer(s)
	defer server.Close()
	defer s.live.close()
	answer := openLive(t, server, cookie)
	lines := bufio.NewScanner(answer.Body)
	next := func() string {
		for lines.Scan() {
			if text := lines.Text(); text != "" {
				return text
			}
		}
		return ""
	}
	begin := next() + " " + next()
	query, isBegin := strings.CutPrefix(begin, "event: begin data: ")
	named, err := url.ParseQuery(query)
	if err != nil || !isBegin || named.Get("user") != "anna" || len(named.Get("stream")) < 20 {
		t.Fatalf("the stream begins with %q", begin)
	}
	stream := named.Get("stream")
	choose := func(want int, text, form string) {
		t.Helper()
		if got := post(s, "/live", cookie, strings.NewReader(form)); got.Code != want || !strings.Contains(got.Body.String(), text) {
			t.Errorf("%.100s: %d %q, want %d %q", form, got.Code, got.Body, want, text)
		}
	}
	choose(http.StatusOK, "17", "devices=hall&devices=a%26b&stream="+stream)
	for _, change := range []Change{{"devices", "yard"}, {"readings", "hall"}, {"devices", "a&b"}} {
		s.live.changed(change)
	}
	if got := next(); got != "data: devices=a%26b" {
		t.Errorf("told %q", got)
	}
	choose(http.StatusOK, "17", "readings=&stream="+stream)
	s.live.changed(Change{"devices", "hall"})
	s.live.changed(Change{"readings", "hall"})
	if got := next(); got != "data: readings=" {
		t.Errorf("told %q after the page of another device was opened", got)
	}
	many := "stream=" + stream
	for i := range mostTopics {
		many += fmt.Sprint("&devices=", i)
	}
	choose(http.StatusOK, "17", many)
	choose(http.StatusBadRequest, "129 topics, and a stream has at most 128; close other windows", many+"&readings=")
	choose(http.StatusBadRequest, `no topic "nothing"; use one of devices, readings`, "nothing=&stream="+stream)
	choose(http.StatusNotFound, `the stream "other" has ended`, "devices=&stream=other")
	if s.live.setTopics("bob", stream, nil) {
		t.Error("a user has chosen the topics of another user's stream")
	}
	post(s, "/logout", cookie, strings.NewReader(""))
	if got := next(); got != "" {
		t.Errorf("after the logout the stream has %q", got)
	}
	choose(http.StatusUnauthorized, "log in again", "devices=&stream="+stream)
}

// TestListenersAreBounded has one user open as many streams as it may. The next user takes the place of the oldest. Before, it had none.
func TestListenersAreBounded(t *testing.T) {
	l := newLive(nil, slog.New(slog.DiscardHandler))
	defer l.close()
	var all []*listener
	for one := l.add("viewer"); one != nil; one = l.add("viewer") {
		all = append(all, one)
	}
	if len(all) != mostListeners {
		t.Errorf("one user has %d of %d", len(all), mostListeners)
	}
	if l.add("admin") == nil {
		t.Error("the next user has no place")
	}
	if _, open := <-all[0].wake; open {
		t.Error("the oldest stream of the user with the most continues")
	}
	l.remove(all[0])
	if l.add("viewer") != nil {
		t.Error("the user with the most has taken the place of another")
	}
	l.remove(all[1])
	if l.add("viewer") == nil {
		t.Error("when one has gone the next one has no place")
	}
}

func TestLiveTopics(t *testing.T) {
	l := newLive(nil, slog.New(slog.DiscardHandler))
	l.every = time.Hour // the test sends the messages
	l.last = time.Now()
	listen := func(topics ...Change) *listener {
		one, wanted := l.add("anna"), map[Change]bool{}
		for _, topic := range topics {
			wanted[topic] = true
		}
		if !l.setTopics("anna", one.stream, wanted) {
			t.Fatal("an open stream takes no topics")
		}
		return one
	}
	hall := listen(Change{"readings", "hall"}, Change{"devices", ""})
	all := listen(Change{"readings", ""}, Change{"readings", "hall"}) // two pages
	changes := listen(Change{"ledger", "changes"})
	const both = "[readings=&readings=hall]"
	told := func() string {
		l.send()
		for _, one := range []*listener{hall, all, changes} {
			if woken := len(one.wake) > 0; woken != (len(one.due) > 0) {
				t.Errorf("woken %v for %v", woken, one.due)
			}
			select {
			case <-one.wake:
			default:
			}
		}
		text := fmt.Sprintf("[%s] [%s] [%s]", l.take(hall), l.take(all), l.take(changes))
		return strings.Replace(text, "[readings=hall&readings=]", both, 1)
	}
	for range 1000 {
		l.changed(Change{"readings", "yard"})
	}
	if got := told(); got != "[] [readings=] []" {
		t.Errorf("told %s", got)
	}
	l.changed(Change{"readings", "hall"})
	l.changed(Change{"devices", "yard"})
	if got := told(); got != "[devices=&readings=hall] "+both+" []" {
		t.Errorf("told %s", got)
	}
	l.changed(Change{"ledger", "readings"})
	if got := told(); got != "[] [] []" {
		t.Errorf("a page is told %s of the log of readings, or again of what it was told before", got)
	}
	l.changed(Change{"readings", "hall"})
	l.send()
	l.changed(Change{"devices", "hall"})
	if got := l.take(hall); got != "readings=hall" {
		t.Errorf("told %s: the page that it shares may be older than the last change", got)
	}
	if got := told(); got != "[devices=] "+both+" []" {
		t.Errorf("told %s after the change between a message and what a page loads then", got)
	}
	l.close()
	for range hall.wake { // which ends
	}
	l.changed(Change{"devices", "yard"})
	if l.add("anna") != nil {
		t.Error("after the end a page is told of changes")
	}
}

// TestPagesShareWhatTheyLoad has pages load the same after a message: one request renders it for all users with the same role.
func TestPagesShareWhatTheyLoad(t *testing.T) {
	const pages = 20
	s := fixture(t, nil)
	s.live.every, s.live.last = time.Hour, time.Now()
	page := s.live.add("anna")
	s.live.setTopics("anna", page.stream, map[Change]bool{{"devices", ""}: true})
	var rendered atomic.Int32
	p, status := Page{Title: "shown", Live: "devices"}, http.StatusOK
	s.engine.GET("/shown", gate{s}.session, gate{s}.authorize(handlers.AnyRole), s.answer(s.Share(func(c *gin.Context) error {
		rendered.Add(1)
		return s.Show(c, status, "error", p)
	})))
	cookies := []*http.Cookie{login(t, s), login(t, s)}
	load := func(what string, want int, encoding string) {
		t.Helper()
		rendered.Store(0)
		var all sync.WaitGroup
		for i := range pages {
			all.Go(func() {
				r := httptest.NewRequest(http.MethodGet, "/shown", nil)
				r.AddCookie(cookies[i%len(cookies)])
				r.Header.Set("X-Live", "1")
				r.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				text := w.Body.Bytes()
				if w.Header().Get("Content-Encoding") == "gzip" {
					z, err := gzip.NewReader(w.Body)
					if err != nil {
						t.Error(err)
						return
					}
					text, _ = io.ReadAll(z)
				}
				if w.Code != status || !bytes.Contains(text, []byte("<title>shown")) {
					t.Errorf("%s: %d %.200s", what, w.Code, text)
				}
				if own := p.Live == "" || status != http.StatusOK; bytes.Contains(text, []byte("anna")) != own {
					t.Errorf("%s: the page has the name of its user: %v, want %v", what, !own, own)
				}
			})
		}
		all.Wait()
		if got := int(rendered.Load()); got != want {
			t.Errorf("%s: rendered %d times, want %d", what, got, want)
		}
	}
	load("the first message", 1, "")
	s.live.changed(Change{"devices", "hall"})
	s.live.send()
	w := &slowBrowser{httptest.NewRecorder(), func() { load("a page that the first browser is still reading", 0, "") }}
	slow := httptest.NewRequest(http.MethodGet, "/shown", nil)
	slow.AddCookie(cookies[0])
	slow.Header.Set("X-Live", "1")
	s.ServeHTTP(w, slow)
	load("the same message", 0, "")
	load("the same message, compressed", 1, "gzip")
	s.Accounts.(people)["anna"] = domain.User{Name: "anna", Role: domain.Viewer, Credential: "1"}
	load("the same message, for another role", 1, "")
	s.live.changed(Change{"devices", "hall"})
	load("before the next message", 0, "")
	s.live.setTopics("anna", page.stream, page.topics)
	load("after a page has joined", 1, "")
	s.live.send()
	load("the next message", 1, "")
	s.live.every = 0
	load("later", pages, "")
	s.live.every = time.Hour
	s.live.remove(page)
	load("without a live connection", pages, "")
	s.live.add("anna")
	p.Live = ""
	load("a page that is not live", pages, "")
	p.Live, status = "devices", http.StatusTeapot
	load("an error", pages, "")
}

// slowBrowser calls meanwhile before it takes the answer.
type slowBrowser struct {
	*httptest.ResponseRecorder
	meanwhile func()
}

func (b *slowBrowser) Write(text []byte) (int, error) {
	b.meanwhile()
	return b.ResponseRecorder.Write(text)
}
