package main

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * oneDay, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "-1d": -oneDay, "500ms": 500 * time.Millisecond, "0": 0, "0d": 0, "2h30m": 150 * time.Minute,
	} {
		var got time.Duration
		if err := newDuration(&got, 0).Set(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1d-2h", "--1d", "+-1d", "1", "1dd", "oneDay", "NaNd", "Infd", "1e300d", "36500000d", "h1d", "1d1"} {
		if d, err := parseDuration(text); err == nil {
			t.Errorf("%q is taken as %v", text, d)
		}
	}
}
