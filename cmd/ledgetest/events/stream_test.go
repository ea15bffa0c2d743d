package events

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// stream is a stream of events.
type stream struct {
	answer *http.Response
	lines  *bufio.Reader
}

// openStream opens a stream behind an event, with a token or without one. It ends with ctx.
func openStream(ctx context.Context, client *http.Client, url, token string, after uint64) (*stream, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if after > 0 {
		r.Header.Set("Last-Event-ID", fmt.Sprint(after))
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	return &stream{answer, bufio.NewReader(answer.Body)}, nil
}

// next returns the sequence of the next whole event.
func (s *stream) next() (seq uint64, err error) {
	for data := false; ; {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return 0, err
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case name == "id":
			seq, _ = strconv.ParseUint(value, 10, 64)
		case name == "data":
			data = true
		case line == "\n" && data:
			return seq, nil
		}
	}
}

// newClient returns a client of streams, of which no answer is kept.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestStreamOverKill follows the log while the server is killed, and continues behind the last event that it has: it sees each event once.
func TestStreamOverKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	var seen []uint64
	for run := range 3 {
		ctx, stop := context.WithTimeout(t.Context(), ledgetest.Timeout)
		after := uint64(0)
		if len(seen) > 0 {
			after = seen[len(seen)-1]
		}
		s, err := openStream(ctx, newClient(t), p.Metadata+"/api/v2/ledger/event?from=1", "", after)
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			for i := range 50 {
				device := "[" + ledgetest.DeviceJSON(fmt.Sprintf("cam-%d-%d", run, i)) + "]"
				if _, err := ledgetest.TryCall(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", device); err != nil {
					return // the server was killed
				}
			}
		}()
		for range 30 {
			seq, err := s.next()
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, seq)
		}
		p.Kill()
		for {
			seq, err := s.next()
			if err != nil {
				break
			}
			seen = append(seen, seq)
		}
		stop()
		s.answer.Body.Close()
		<-written
		p = ledgetest.Start(t, dir)
	}
	s, err := openStream(t.Context(), newClient(t), p.Metadata+"/api/v2/ledger/event", "", seen[len(seen)-1])
	if err != nil {
		t.Fatal(err)
	}
	defer s.answer.Body.Close()
	for last := readPage(p, "").Last; seen[len(seen)-1] < last; {
		seq, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, seq)
	}
	for i, seq := range seen {
		if seq != uint64(i)+1 {
			t.Fatalf("event %d comes %d.: %v", seq, i+1, seen)
		}
	}
}

// TestStreamRights holds which roles may read events, and that a stream ends with the right to it.
func TestStreamRights(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	url := s.Metadata + "/api/v2/ledger/event"
	for role, token := range s.Tokens {
		want := http.StatusForbidden
		if role == domain.Auditor || role == domain.Admin {
			want = http.StatusOK
		}
		for _, path := range []string{"", "/1"} {
			if a := s.Send(token, http.MethodGet, url+path, "", ""); a.Status != want {
				t.Errorf("%s: %d %s, want %d", role, a.Status, a.Body, want)
			}
		}
	}
	if a := s.Send("", http.MethodGet, url, "", ""); a.Status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", a.Status)
	}
	const password = "pass-4711-of-tests"
	file := ledgetest.MustWriteFile(t, "password", password+"\n")
	for name, lose := range map[string][]string{
		"removed": {"user", "remove", "removed"}, "lowered": {"user", "role", "lowered", "--role", "viewer"},
		"renewed": {"user", "passwd", "renewed", "--password-file", file}, "revoked": {"token", "revoke", "revoked"},
	} {
		var token string
		if name == "revoked" {
			token = s.CreateToken(t, name, domain.Auditor, "")
		} else {
			s.Ledge(t, "user", "add", name, "--role", "auditor", "--password-file", file)
			token, _ = s.Login(name, password)
		}
		ctx, stop := context.WithTimeout(t.Context(), ledgetest.Timeout)
		defer stop()
		client := &http.Client{Transport: s.Client.Transport}
		got, err := openStream(ctx, client, url+"?from=1&log=notifications", token, 0) // which has no event of the user
		if err != nil || got.answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v", name, err)
		}
		defer got.answer.Body.Close()
		s.Ledge(t, lose...)
		for err == nil {
			_, err = got.next()
		}
		if ctx.Err() != nil {
			t.Errorf("%s: the stream goes on", name)
		}
	}
}

// TestStreamsOfOneClient opens 100 streams: one client gets three quarters of them, and pages are answered meanwhile.
func TestStreamsOfOneClient(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	open := 0
	for range 100 {
		s, err := openStream(t.Context(), newClient(t), p.Metadata+"/api/v2/ledger/event", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.answer.Body.Close()
		if s.answer.StatusCode == http.StatusOK {
			open++
		} else if s.answer.StatusCode != http.StatusServiceUnavailable || s.answer.Header.Get("Retry-After") == "" {
			t.Errorf("a stream too many: %s", s.answer.Status)
		}
	}
	if open != 24 {
		t.Errorf("%d streams are open, want 24", open)
	}
	readPage(p, "")
	if code := p.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, ok := p.Log.Find("requests cut off at the stop"); ok {
		t.Error("streams hold up the stop")
	}
}

// TestStalledStream has a client read nothing: it is cut off, costs the others nothing, and misses nothing when it comes back.
func TestStalledStream(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("cam-1")
	for i := range 400 { // some 20 MB, more than sockets hold
		ledgetest.DescribeDevice(p, "cam-1", fmt.Sprint(i, strings.Repeat("x", 25<<10)))
	}
	url := p.Metadata + "/api/v2/ledger/event?from=1"
	s, err := openStream(t.Context(), newClient(t), url, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	p.WaitLog("stream of events is cut off")
	var seen []uint64
	for {
		seq, err := s.next()
		if err != nil {
			break
		}
		seen = append(seen, seq)
	}
	s.answer.Body.Close()
	last := readPage(p, "limit=1").Last
	if uint64(len(seen)) >= last {
		t.Fatalf("the stalled client got all %d events", last)
	}
	again, err := openStream(t.Context(), newClient(t), url, "", uint64(len(seen)))
	if err != nil {
		t.Fatal(err)
	}
	defer again.answer.Body.Close()
	for uint64(len(seen)) < last {
		seq, err := again.next()
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, seq)
	}
	for i, seq := range seen {
		if seq != uint64(i)+1 {
			t.Fatalf("the client saw event %d as number %d", seq, i+1)
		}
	}
}
