package domain

import (
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, ok := range map[string]bool{
		"0s": true, "300ms": true, "10s": true, "1h30m": true, "1.5h": true,
		"": false, "10": false, "ten": false, "-1s": false, " 1s": false, "1d": false, "9999999h": false,
	} {
		p := with(camera(), func(d *Device) { d.AutoEvents = []AutoEvent{{Interval: text, SourceName: "zoom"}} }).Check()
		if ok != (len(p) == 0) {
			t.Errorf("%q: got %q, want it taken: %t", text, p, ok)
		}
		if !ok && !strings.Contains(joinProblems(p), "is not a duration; write it as 300ms, 10s or 24h") {
			t.Errorf("%q: got %q, which names no cure", text, p)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "300ms": 300 * time.Millisecond, "1h30m": 90 * time.Minute, "PT0S": 0, "PT10S": 10 * time.Second,
		"PT1M30S": 90 * time.Second, "P1D": 24 * time.Hour, "P1DT12H": 36 * time.Hour, "P2W": 14 * 24 * time.Hour,
		"PT0.3S": 300 * time.Millisecond, "PT0,5H": 30 * time.Minute,
	} {
		if got, ok := ParseDuration(text); !ok || got != want {
			t.Errorf("%q: got %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "10", "-1s", "P", "PT", "P1DT", "PT1.5H30M", "P1M", "P1Y", "-PT1S", "PT-1S", "PT1S ", "pt1s", "PT1..5S", "PT.S", "P99999999W", "PT1S1M",
	} {
		got, err := patchGate("resendInterval", text).Decide(given(subscribed()...))
		if text != "" { // which takes the interval away
			wantRefusal(t, got, err, Invalid, "is not a duration; write it as 300ms, 10s or 24h, or as PT10S or P1D")
		}
		if d, ok := ParseDuration(text); ok {
			t.Errorf("%q: got %v, want none", text, d)
		}
	}
}
