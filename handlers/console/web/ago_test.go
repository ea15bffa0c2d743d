package web

import (
	"testing"
	"time"
)

// TestShortAge has each unit, at its edges.
func TestShortAge(t *testing.T) {
	const day = 24 * time.Hour
	for age, want := range map[time.Duration]string{
		0: "now", 5 * time.Second: "5 s", 59 * time.Second: "59 s", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min",
		time.Hour: "1 h", 47 * time.Hour: "47 h", 2 * day: "2 d", 99 * day: "99 d", 100 * day: "3 mo", 729 * day: "24 mo", 730 * day: "2 y",
		-3 * time.Minute: "in 3 min",
	} {
		if got := shortAge(age); got != want {
			t.Errorf("%v: got %q, want %q", age, got, want)
		}
	}
	const want = `<time class="ago" datetime="2026-01-02T03:04:05.000Z" title="Fri 2026-01-02 03:04:05 UTC">3 min</time>`
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := ShowAgo(at.UnixMilli(), at.Add(3*time.Minute)); string(got) != want {
		t.Errorf("got %s", got)
	}
	if got := ShowAgo(0, at); got != "never" {
		t.Errorf("without a time: %s", got)
	}
}
