package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// TestLastingRequests holds that requests which last have a bound of their own, and that each ends with its client or the server.
func TestLastingRequests(t *testing.T) {
	t.Parallel()
	dir, came, ended := t.TempDir(), make(chan string, adminLasting+1), make(chan string, adminLasting+1)
	s, err := openAdminSocket(dir, slog.New(slog.DiscardHandler), func(ctx context.Context, _ string, r adminRequest, send func(adminAnswer) error) (adminAnswer, error) {
		if !r.lasts() {
			return adminAnswer{Token: "short"}, nil
		}
		came <- r.Name
		ledgetest.MustDo(t, send(adminAnswer{Text: "begun"}))
		<-ctx.Done()
		ended <- r.Name
		return adminAnswer{Token: "ended"}, nil
	})
	ledgetest.MustDo(t, err)
	ask := func(name string) net.Conn {
		c := mustDialAdmin(t, dir)
		ledgetest.MustDo(t, json.NewEncoder(c).Encode(adminRequest{Do: "verify", Name: name}))
		return c
	}
	first := ask("first")
	<-came
	for range adminLasting - 1 {
		ask("other")
		<-came
	}
	if _, err := askAdminSocket(t.Context(), dir, adminRequest{Do: "verify"}, nil); err == nil || !strings.Contains(err.Error(), "more are not allowed") {
		t.Errorf("one more: %v", err)
	}
	if a, err := askAdminSocket(t.Context(), dir, adminRequest{Do: "user list"}, nil); err != nil || a.Token != "short" {
		t.Errorf("a short request: %+v, %v", a, err)
	}
	first.Close()
	if name := <-ended; name != "first" {
		t.Errorf("%q has ended with the first client", name)
	}
	texts, last := make(chan string, 1), make(chan adminAnswer, 1)
	go func() {
		a, _ := askAdminSocket(t.Context(), dir, adminRequest{Do: "verify"}, func(a adminAnswer) { texts <- a.Text })
		last <- a
	}()
	if text := <-texts; text != "begun" {
		t.Errorf("the first answer is %q", text)
	}
	s.close()
	if a := <-last; a.Token != "ended" {
		t.Errorf("the last answer is %+v", a)
	}
}

// TestOneVerification holds that one verification runs at a time, and that one that is interrupted has no result.
func TestOneVerification(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir())
	p := &Program{Config: c, Now: time.Now, data: mustOpenData(t, c)}
	v := p.newVerifier()
	silent := func(string, int64, int64) {}
	run, ok := v.begin("one")
	if _, again := v.begin("two"); !ok || again {
		t.Fatalf("begun: %t, and a second one beside it: %t", ok, again)
	}
	ledgetest.MustDo(t, run(t.Context(), io.Discard, silent))
	if v.last.Running || v.last.Damage != "" || len(v.last.Reports) != 3 {
		t.Errorf("the result is %+v", v.last)
	}
	run, ok = v.begin("three")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, io.Discard, silent); err == nil || !ok || v.last.Running || v.last.Actor != "one" {
		t.Errorf("interrupted: %v, and the result is %+v", err, v.last)
	}
}
