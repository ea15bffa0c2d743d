package config

import (
	"testing"
	"time"

	"ledge/domain/moment"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * oneDay, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "-1d": -oneDay, "500ms": 500 * time.Millisecond, "0": 0, "0d": 0, "2w": 14 * oneDay, "1w1d1h": 8*oneDay + time.Hour, "+0.5w": 84 * time.Hour, "-1w": -7 * oneDay, "2h30m": 150 * time.Minute,
	} {
		var got time.Duration
		if err := newDuration(&got, 0).Set(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1d-2h", "--1d", "+-1d", "1", "1dd", "oneDay", "NaNd", "Infd", "1e300d", "36500000d", "h1d", "1d1", "1d1w", "w", "1w1w", "1w-1d", "9999999w"} {
		if d, err := moment.ParseDuration(text); err == nil {
			t.Errorf("%q is taken as %v", text, d)
		}
	}
}

// What is printed is taken back as the same duration, and is as short as its value allows.
func TestDurationsArePrinted(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"0s": 0, "7d": 7 * oneDay, "1d12h": 36 * time.Hour, "1m": time.Minute, "1h": time.Hour, "1h0m1s": time.Hour + time.Second, "20m30s": 1230 * time.Second,
		"1d10s": oneDay + 10*time.Second, "10h": 10 * time.Hour, "1.5s": 1500 * time.Millisecond, "-1h": -time.Hour,
	} {
		printed := duration(d)
		back, err := moment.ParseDuration(printed.String())
		if err != nil || back != d || printed.String() != text {
			t.Errorf("%v is printed as %q, want %q; read as %v, %v", d, printed.String(), text, back, err)
		}
	}
}
