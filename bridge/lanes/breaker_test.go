package lanes

import (
	"testing"
	"time"
)

const longest = 5 * time.Second

func TestPausesOfAServer(t *testing.T) {
	at := time.Unix(1000, 0)
	var b breaker
	if !b.broken(at, "refused", longest) || b.pause != firstPause {
		t.Fatalf("the first failure of a server that never answered: got a pause of %v", b.pause)
	}
	for _, want := range []time.Duration{200, 400, 800, 1600, 3200, 5000, 5000} {
		at = b.until
		b.probe(at)
		b.broken(at, "refused", longest)
		if b.unanswered(at, longest); b.pause != want*time.Millisecond {
			t.Errorf("got a pause of %v, want %v ms", b.pause, want)
		}
	}
	b.probe(at)
	if b.unanswered(at, longest); b.pause != longest || !b.until.Equal(at.Add(longest)) {
		t.Errorf("a probe before the end of the pause makes one of %v until %v", b.pause, b.until)
	}
	if !b.ok(at) || b.paused() || b.fails != 0 {
		t.Errorf("after a success: %+v", b)
	}
	for range steadyFailures - 1 {
		if b.broken(at, "reset", longest) {
			t.Error("a server that answered a moment ago is paused after fewer failures than there may be")
		}
	}
	if !b.broken(at, "reset", longest) {
		t.Error("no pause after failures in a row")
	}
}

func TestPausesOfATarget(t *testing.T) {
	at := time.Unix(1000, 0)
	var b breaker
	for range 10 * steadyErrors {
		if b.refused(at, "500", 0, longest) {
			t.Fatal("a pause after errors of one moment")
		}
	}
	if !b.refused(at.Add(steadyTime), "500", 0, longest) {
		t.Error("no pause though nothing has succeeded for a while")
	}
	b.ok(at)
	if !b.refused(at, "503", time.Second, longest) || b.pause != time.Second {
		t.Errorf("a receiver that asks for a pause of 1 s gets %v", b.pause)
	}
	b.ok(at)
	if b.refused(at, "503", time.Hour, longest); b.pause != longest {
		t.Errorf("a receiver that asks for a pause of 1 h gets %v, want %v", b.pause, longest)
	}
}

func TestWindow(t *testing.T) {
	const most = 16
	w := newWindow(most)
	if w.sends() != 1 {
		t.Errorf("%d sends at first, want 1", w.sends())
	}
	for range 3 * most {
		w.succeeded(most)
	}
	if w.sends() != most {
		t.Errorf("%d sends after successes, want %d", w.sends(), most)
	}
	if w.failed(); w.sends() != most/2 {
		t.Errorf("%d sends after a failure, want %d", w.sends(), most/2)
	}
	for range most/2 + 1 {
		w.succeeded(most)
	}
	if w.sends() != most/2+1 {
		t.Errorf("%d sends after a round of successes, want %d", w.sends(), most/2+1)
	}
	for range 10 {
		w.failed()
	}
	if w.sends() != 1 {
		t.Errorf("%d sends after failures only, want 1", w.sends())
	}
}
