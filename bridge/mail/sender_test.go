package mail

import (
	"context"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/bridge/guard"
	"ledge/bridge/mailtest"
	"ledge/bridge/outward"
)

const password = "s3cr3t-not-to-be-seen"

// secrets are Secrets in memory, for any use.
type secrets map[string]map[string]string

func (s secrets) Use(path string, _ outward.Use) (map[string]string, error) {
	if secret, ok := s[path]; ok {
		return secret, nil
	}
	return nil, fmt.Errorf("%w %q", outward.ErrNoSecret, path)
}

// hangs is how long a test waits for what must happen before it gives up.
const hangs = time.Minute

// server is a running mail server.
type server struct {
	*mailtest.Server
	t *testing.T
}

func mustServer(t *testing.T, mode string, account ...string) *server {
	t.Helper()
	return &server{mailtest.Start(t, mode, account...), t}
}

// at is the server as a scheme reaches it.
func (s *server) at(scheme string) Server {
	return mustParse(s.t, fmt.Sprintf("%s://127.0.0.1:%d?from=ledge@example.org", scheme, s.Port))
}

func mustParse(t *testing.T, text string) Server {
	t.Helper()
	server, err := ParseServer(text)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// sender returns one for a server without TLS.
func (s *server) sender(change func(*Options)) *Sender {
	s.t.Helper()
	o := Options{
		Dial: guard.New(guard.Options{}).DialContext, Server: s.at("smtp+plain"),
		Roots: s.Roots, Now: func() time.Time { return time.Date(2026, 11, 21, 7, 42, 5, 0, time.UTC) },
	}
	if change != nil {
		change(&o)
	}
	return New(o)
}

func to(recipients ...string) Target { return Target{Recipients: recipients} }

var message = outward.Message{ID: "6877ff35-5566-5d14-a992-79fbb18d8d4a", Sender: "core-metadata", ContentType: "text/plain", Body: []byte("x"), CorrelationID: "c-1"}

func TestMessage(t *testing.T) {
	s := mustServer(t, "plain")
	m := message
	m.Sender = "Wächter, \"der\" <x@y>"
	m.Body = []byte("Größe: 5 m²\n.\n.. and a very long line: " + strings.Repeat("ü ", 1000) + "\ntrailing \n")
	response, err := s.sender(nil).Send(context.Background(), to("a@example.org", "Bö <b@example.org>"), m)
	if err != nil || response != "250 kept" {
		t.Errorf("got %q, %v", response, err)
	}
	got := s.Next()
	if got.From != "ledge@example.org" || !slices.Equal(got.To, []string{"a@example.org", "b@example.org"}) {
		t.Errorf("envelope: got %s, %v", got.From, got.To)
	}
	parsed, err := mail.ReadMessage(strings.NewReader(got.Data))
	if err != nil {
		t.Fatalf("%v in %s", err, got.Data)
	}
	decode := func(field string) string {
		text, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get(field))
		if err != nil {
			t.Error(err)
		}
		return text
	}
	for field, want := range map[string]string{
		"Subject": "Größe: 5 m²", "Date": "Sat, 21 Nov 2026 07:42:05 +0000", "Message-Id": "<6877ff35-5566-5d14-a992-79fbb18d8d4a@example.org>",
		"Content-Type": "text/plain; charset=UTF-8", "X-Correlation-Id": "c-1", "Auto-Submitted": "auto-generated", "User-Agent": "",
	} {
		if got := decode(field); got != want {
			t.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
	from, err := parsed.Header.AddressList("From")
	if err != nil || len(from) != 1 || from[0].Name != m.Sender || from[0].Address != "ledge@example.org" {
		t.Errorf("From: got %v, %v", from, err)
	}
	if all, err := parsed.Header.AddressList("To"); err != nil || len(all) != 2 || all[1].Name != "Bö" {
		t.Errorf("To: got %v, %v", all, err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if text := strings.ReplaceAll(string(body), "\r\n", "\n"); err != nil || strings.TrimSuffix(text, "\n")+"\n" != string(m.Body) {
		t.Errorf("body: got %.100q…%q, %v", text, text[len(text)-20:], err)
	}
	for line := range strings.SplitSeq(got.Data, "\r\n") {
		if len(line) > 998 || strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
			t.Errorf("line %.80q has %d bytes", line, len(line))
		}
	}
}

// Whatever a notification or a subscription says, there are no more header lines and recipients than there should be.
func TestNothingCanBeInjected(t *testing.T) {
	s := mustServer(t, "plain")
	sender := s.sender(nil)
	const evil = "a\r\nBcc: evil@example.org\r\nX-Evil: 1\r\n\r\nbody\r\n.\r\nMAIL FROM:<x@y>"
	m := message
	m.ID, m.Sender, m.CorrelationID, m.Body = evil, evil, evil, []byte(evil)
	if _, err := sender.Send(context.Background(), to("a@example.org"), m); err != nil {
		t.Fatal(err)
	}
	got := s.Next()
	parsed, err := mail.ReadMessage(strings.NewReader(got.Data))
	if err != nil || !slices.Equal(got.To, []string{"a@example.org"}) {
		t.Fatalf("to %v: %v in %s", got.To, err, got.Data)
	}
	for field := range parsed.Header {
		if !slices.Contains([]string{"From", "To", "Subject", "Date", "Message-Id", "Mime-Version", "Content-Type", "Content-Transfer-Encoding", "X-Correlation-Id", "Auto-Submitted"}, field) {
			t.Errorf("there is a line %s", field)
		}
	}
	for _, r := range []string{
		"a@example.org\r\nBcc: evil@example.org", "a@example.org, evil@example.org", "a@example.org>\r\nRCPT TO:<evil@example.org", "\"a\r\nb\"@example.org", "evil", "", "a@",
	} {
		if _, err := sender.Send(context.Background(), to("a@example.org", r), message); !outward.Permanent(err) || !strings.Contains(err.Error(), "recipients[1]: ") {
			t.Errorf("%q: got %v", r, err)
		}
	}
	for _, contentType := range []string{"text/plain\r\nX-Evil: 1", "multipart/mixed", "message/rfc822", "text", "/"} {
		m := message
		m.ContentType = contentType
		if _, err := sender.Send(context.Background(), to("a@example.org"), m); !outward.Permanent(err) || !strings.Contains(err.Error(), "contentType: ") {
			t.Errorf("%q: got %v", contentType, err)
		}
	}
	m = message
	m.ContentType = "application/json; charset=latin1; x=\"y\""
	if _, err := sender.Send(context.Background(), to("a@example.org"), m); err != nil {
		t.Fatal(err)
	}
	if got := s.Next(); !strings.Contains(got.Data, "Content-Type: application/json; charset=UTF-8\r\n") { // and only what was to be sent has arrived
		t.Errorf("got %s", got.Data)
	}
}

func taken(recipient string) bool {
	return !strings.HasPrefix(recipient, "no") && !greylisted(recipient)
}
func greylisted(recipient string) bool { return strings.HasPrefix(recipient, "later") }

func TestRefusedRecipients(t *testing.T) {
	s := mustServer(t, "plain")
	sender := s.sender(nil)
	for _, c := range []struct {
		to        []string
		taken     int
		permanent bool
		want      []string
	}{
		{[]string{"no@example.org"}, 0, true, []string{"recipient <no@example.org>: 550 ", "5.1.1 nobody of that name"}},
		{[]string{"later@example.org"}, 0, false, []string{"451 ", "come back later"}},
		{[]string{"no@example.org", "later@example.org"}, 0, false, []string{"550", "451"}},
		{[]string{"a@example.org", "no@example.org", "b@example.org"}, 2, true, []string{"taken for 2 of 3 recipients", "<no@example.org>"}},
		{[]string{"no@example.org", "later@example.org", "b@example.org"}, 1, false, []string{"taken for 1 of 3 recipients"}},
	} {
		response, err := sender.Send(context.Background(), to(c.to...), message)
		if err == nil || outward.Permanent(err) != c.permanent {
			t.Errorf("%v: got %v, permanent %v", c.to, err, outward.Permanent(err))
			continue
		}
		left, lost := outward.Recipients(err)
		if got := slices.Concat(left, lost); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(slices.DeleteFunc(c.to, taken)))) || slices.ContainsFunc(lost, greylisted) {
			t.Errorf("%v: left are %v, refused are %v", c.to, left, lost)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: got %v, want %q", c.to, err, want)
			}
		}
		if c.taken > 0 {
			if got := s.Next(); len(got.To) != c.taken || response != "250 kept" {
				t.Errorf("%v: taken for %v, %q", c.to, got.To, response)
			}
		}
	}
}

func TestEncryptionAndLogin(t *testing.T) {
	account := func(username, word string) secrets {
		return secrets{SecretPath: {"username": username, "password": word}}
	}
	me, none := account("me", password), secrets{}
	open := mustServer(t, "plain")
	plain := mustServer(t, "plain", "me", password)
	starttls := mustServer(t, "starttls", "me", password)
	only := mustServer(t, "starttls-only")
	implicit := mustServer(t, "implicit", "me", password)
	for _, c := range []struct {
		name      string
		s         *server
		scheme    string
		secrets   secrets
		untrusted bool
		permanent bool
		want      string // part of the error; empty where it is taken
		user      string
	}{
		{"clear", open, "smtp+plain", none, false, false, "", ""},
		{"no login in the clear", open, "smtp+plain", me, false, false, "", ""},
		{"no password", only, "smtp", account("me", ""), false, false, "", ""},
		{"no STARTTLS", open, "smtp", none, false, false, "does not support STARTTLS", ""},
		{"no STARTTLS, and no password in the clear", plain, "smtp", me, false, false, "does not support STARTTLS", ""},
		{"login required in the clear", plain, "smtp+plain", me, false, true, "530", ""},
		{"STARTTLS", starttls, "smtp", me, false, false, "", "me"},
		{"STARTTLS required", only, "smtp+plain", none, false, true, "530", ""},
		{"STARTTLS without a login", only, "smtp", none, false, false, "", ""},
		{"TLS", implicit, "smtps", me, false, false, "", "me"},
		{"untrusted, STARTTLS", starttls, "smtp", me, true, false, "certificate", ""},
		{"untrusted, TLS", implicit, "smtps", me, true, false, "certificate", ""},
		{"wrong password", starttls, "smtp", account("me", password+"!"), false, true, "535", ""},
		{"no login", starttls, "smtp", none, false, true, "530", ""},
		{"no username", starttls, "smtp", account("", password), false, true, `the secret "smtp" has no username`, ""},
	} {
		sender := c.s.sender(func(o *Options) {
			o.Server, o.Secrets = c.s.at(c.scheme), c.secrets
			if c.untrusted {
				o.Roots = nil
			}
		})
		_, err := sender.Send(context.Background(), to("a@example.org"), message)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || outward.Permanent(err) != c.permanent || strings.Contains(err.Error(), password) {
				t.Errorf("%s: got %v, permanent %v", c.name, err, outward.Permanent(err))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := c.s.Next(); got.TLS != (c.scheme != "smtp+plain") || got.User != c.user {
			t.Errorf("%s: TLS %v, user %q", c.name, got.TLS, got.User)
		}
	}
}

func TestTimeouts(t *testing.T) {
	s := mustServer(t, "plain")
	stalled := make(chan bool, 1)
	go func() { stalled <- s.Next().Stalled }()
	for timeout := 300 * time.Millisecond; len(stalled) == 0; timeout *= 2 { // until the server has got as far as the message
		sender := s.sender(func(o *Options) { o.Timeout = timeout })
		if _, err := sender.Send(context.Background(), to("stall@example.org"), message); err == nil || outward.Permanent(err) || !strings.Contains(err.Error(), "deadline exceeded") {
			t.Errorf("stalled: got %v", err)
		}
	}
	if !<-stalled {
		t.Error("the message was taken")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := s.sender(func(o *Options) { o.Timeout = 10 * hangs }).Send(ctx, to("stall@example.org"), message)
		ended <- err
	}()
	s.Next()
	cancel()
	select {
	case err := <-ended:
		if err == nil || outward.Permanent(err) || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("ended: got %v", err)
		}
	case <-time.After(hangs):
		t.Error("goes on after its context has ended")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	sender := s.sender(func(o *Options) {
		o.Server, o.Timeout = mustParse(t, "smtp+plain://"+silent.Addr().String()+"?from=a@b"), 50*time.Millisecond
	})
	if _, err := sender.Send(context.Background(), to("a@example.org"), message); err == nil || outward.Permanent(err) {
		t.Errorf("silent: got %v", err)
	}
	s.Kill()
	if _, err := s.sender(nil).Send(context.Background(), to("a@example.org"), message); err == nil || outward.Permanent(err) || !strings.Contains(err.Error(), "mail server 127.0.0.1: ") {
		t.Errorf("dead: got %v", err)
	}
}

func TestOptions(t *testing.T) {
	fine := Options{Dial: guard.New(guard.Options{Deny: guard.MustRules("127.0.0.0/8")}).DialContext, Server: mustParse(t, "smtp+plain://127.0.0.1?from=a@b")}
	for want, change := range map[string]func(*Options){
		"there is no mail server; name one in the setting smtp-server": func(o *Options) { o.Server = Server{} },
		"deny-destinations": func(*Options) {},
	} {
		o := fine
		change(&o)
		if _, err := New(o).Send(context.Background(), to("a@b.c"), message); !outward.Permanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestParseServer(t *testing.T) {
	for text, want := range map[string]Server{
		"smtp://mail.example.org?from=a@b":       {startTLS, "mail.example.org", 587, mail.Address{Address: "a@b"}},
		"smtp://mail.example.org:2525/?from=a@b": {startTLS, "mail.example.org", 2525, mail.Address{Address: "a@b"}},
		"smtps://[2001:db8::1]?from=a+1@b":       {implicit, "2001:db8::1", 465, mail.Address{Address: "a+1@b"}},
		"smtp+plain://127.0.0.1?from=a%40b":      {plain, "127.0.0.1", 25, mail.Address{Address: "a@b"}},
		"SMTPS://h:1?from=Ledge%20<a@b>":         {implicit, "h", 1, mail.Address{Name: "Ledge", Address: "a@b"}}, "": {},
	} {
		if got, err := ParseServer(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"mail.example.org": "use a URL such as smtp://", "mail.example.org:25": "use a URL", "http://h": "use a URL", "smtp://": "use a URL", "smtp://h:x": "use a URL",
		"smtp://h:0?from=a@b": "from 1 to 65535", "smtp://h:65536?from=a@b": "from 1 to 65535", "smtp://me:secret@h": "leave out the login", "smtp://h/x": "what follows the port", "smtp://h?from=a@b&x=1": `leave out the parameter "x"`,
		"smtp://h": `from "" is not an address`, "smtp://h?from=a": `from "a" is not`, "smtp://h?from=a@b&from=c@d": "there twice",
		"smtp://h?from=a@b;": "write what follows ?",
	} {
		if got, err := ParseServer(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: got %+v, %v, want %q", text, got, err, want)
		}
	}
}
