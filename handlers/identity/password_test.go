package identity

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"

	"ledge/domain"
)

func TestPassword(t *testing.T) {
	w := newWorld()
	w.mustUser(t, "anna", "right", domain.Operator, "c1")
	a, log := mustNew(t, w, nil)
	id, err := a.Password(t.Context(), "anna", "right", "10.0.0.1:5")
	if err != nil || id.Actor != "user:anna" || id.Role != domain.Operator {
		t.Fatalf("right password: got %+v, %v", id, err)
	}
	messages := map[string]bool{}
	for i, c := range [][2]string{{"anna", "wrong"}, {"nobody", "right"}, {"anna", ""}, {"anna", strings.Repeat("x", MaxPassword+1)}, {"", ""}} {
		_, err := a.Password(t.Context(), c[0], c[1], fmt.Sprintf("10.0.1.%d:5", i))
		wantCode(t, c[0], err, domain.Unauthenticated)
		messages[err.Error()] = true
	}
	if len(messages) != 1 {
		t.Errorf("messages tell what was wrong: %v", messages)
	}
	params, _, _, err := argon2id.DecodeHash(a.decoy)
	if err != nil || *params != *a.params || strings.Contains(log.String(), "unreadable") {
		t.Errorf("an unknown name does not cost what a known one does: %+v, %v, %s", params, err, log)
	}
	if got := a.Refusals()[badPassword]; got != 5 {
		t.Errorf("got %d refusals, want 5", got)
	}
}

// A hash with old parameters is replaced at a login, under the same id.
func TestUpgrade(t *testing.T) {
	w := newWorld()
	w.mustUser(t, "anna", "right", domain.Viewer, "c1")
	old := w.hashes["c1"]
	o := Options{Directory: w, Credentials: w, LoginKey: loginKey}
	more := *cheap
	more.Iterations = 3
	a := newAuthenticator(o, newTurns(2), &more)
	for range 2 {
		if _, err := a.Password(t.Context(), "anna", "right", "10.0.0.1:5"); err != nil {
			t.Fatal(err)
		}
	}
	params, _, _, err := argon2id.DecodeHash(w.hashes["c1"])
	if err != nil || *params != more || w.hashes["c1"] == old {
		t.Errorf("got %+v, %v, want %+v", params, err, more)
	}
}

func TestHashPassword(t *testing.T) {
	for _, password := range []string{"", strings.Repeat("x", MaxPassword+1)} {
		_, err := HashPassword(password)
		wantCode(t, "length", err, domain.Invalid)
	}
	hash, err := HashPassword(strings.Repeat("x", MaxPassword))
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("got %s, %v", hash, err)
	}
}

// Failures make their own client wait, for a name first and then for all names, and nobody else.
func TestFailuresSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.mustUser(t, "anna", "right", domain.Viewer, "c1")
		w.mustUser(t, "bert", "right", domain.Viewer, "c2")
		a, log := mustNew(t, w, nil)
		try := func(name, password, address string) error {
			_, err := a.Password(t.Context(), name, password, address)
			return err
		}
		for range freeForName {
			wantCode(t, "free try", try("anna", "wrong", "10.0.0.1:5"), domain.Unauthenticated)
		}
		err := try("anna", "right", "10.0.0.1:6")
		wantCode(t, "after failures", err, domain.TooMany)
		if seconds, ok := RetryAfter(err); !ok || seconds != 1 {
			t.Errorf("got Retry-After %d, %v, want 1", seconds, ok)
		}
		for _, c := range [][2]string{{"anna", "10.0.0.2:5"}, {"bert", "10.0.0.1:5"}} { // another client; another name
			if err := try(c[0], "right", c[1]); err != nil {
				t.Errorf("%v: %v", c, err)
			}
		}
		time.Sleep(time.Second)
		if err := try("anna", "right", "10.0.0.1:5"); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		for i := range 40 {
			_ = try(fmt.Sprint("name", i), "wrong", "10.0.0.1:5")
		}
		wantCode(t, "any name", try("carl", "x", "10.0.0.1:5"), domain.TooMany)
		if err := try("bert", "right", "10.0.0.1:5"); err != nil {
			t.Errorf("a name that this client knows: %v", err)
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "wrong") || !strings.Contains(text, "address=10.0.0.1 reason=password") {
			t.Errorf("log: %s", text)
		}
	})
}

// The longest wait is bounded, and is forgotten.
func TestWaitsEnd(t *testing.T) {
	s := newSlowdown()
	for range 10_000 {
		s.failed("c", "anna", at)
	}
	if got := s.wait("c", "anna", at); got != longestName {
		t.Errorf("got %v, want %v", got, longestName)
	}
	if got := s.wait("c", "bert", at); got != longestClient {
		t.Errorf("got %v, want %v", got, longestClient)
	}
	later := at.Add(forgetAfter + time.Second)
	s.failed("c", "anna", later)
	if got := s.wait("c", "anna", later); got != 0 {
		t.Errorf("after a long time: got %v, want 0", got)
	}
}

// No client's failures push out those of others, and the tables are bounded.
func TestFailuresAreBounded(t *testing.T) {
	s := newSlowdown()
	for range 5 {
		s.failed("victim", "anna", at)
	}
	for i := range 3 * mostClients {
		s.failed("flood", strings.Repeat("n", 1000)+fmt.Sprint(i), at)
		s.failed("flood", fmt.Sprint(i), at)
	}
	if s.wait("victim", "anna", at) == 0 {
		t.Error("one client's failures pushed out those of another")
	}
	for i := range 3 * mostClients {
		s.failed(fmt.Sprint("client", i), "anna", at)
		s.succeeded(fmt.Sprint("client", i), "anna", at)
	}
	flood, _ := s.clients.get("flood")
	if len(s.clients.entries) != mostClients || len(s.names.entries) > mostClients || len(s.known.entries) != mostClients || flood != nil {
		t.Errorf("got %d clients, %d names, %d known", len(s.clients.entries), len(s.names.entries), len(s.known.entries))
	}
}
