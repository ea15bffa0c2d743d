package moment_test

import (
	"testing"
	"time"

	"ledge/domain/moment"
)

func TestParse(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 42, 5, 0, time.UTC)
	for text, want := range map[string]moment.Moment{
		"":                          {},
		"4711":                      {Sequence: 4711},
		"2h":                        {Time: now.Add(-2 * time.Hour)},
		"1w2d":                      {Time: now.Add(-9 * 24 * time.Hour)},
		"2026-11-20T08:00:00.5Z":    {Time: time.Date(2026, 11, 20, 8, 0, 0, 5e8, time.UTC)},
		"2026-11-20T08:00:00+02:00": {Time: time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)},
		"2026-11-20":                {Time: time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local)},
		"2026-11-20 08:00:00":       {Time: time.Date(2026, 11, 20, 8, 0, 0, 0, time.Local)},
	} {
		got, err := moment.Parse(text, now)
		if err != nil || got.Sequence != want.Sequence || !got.Time.Equal(want.Time) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "-2h", "yesterday", "2026-13-01", "18446744073709551616", "1.5", "2026-11-20T08:00:00"} {
		if got, err := moment.Parse(text, now); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
