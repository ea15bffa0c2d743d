// Package moment reads moments of the log: the sequence of an event, or a time.
package moment

import (
	"fmt"
	"strconv"
	"time"
)

// Moment is the sequence of an event, or a time if that is not zero.
type Moment struct {
	Sequence uint64
	Time     time.Time
}

// Parse reads the sequence of an event, from 1 on, or a time as [ParseTime] does. Empty is the zero Moment.
func Parse(text string, now time.Time) (Moment, error) {
	if seq, err := strconv.ParseUint(text, 10, 64); err == nil && seq > 0 {
		return Moment{Sequence: seq}, nil
	}
	t, err := ParseTime(text, now)
	if err != nil || text == "0" { // a duration of Go
		const says = "%.80q is neither a sequence nor a time; write it as 4711, 2026-11-21T07:42:05Z, 2026-11-21, or how long ago, as 2h"
		return Moment{}, fmt.Errorf(says, text)
	}
	return Moment{Time: t}, nil
}

// ParseTime reads a time, or how long before now it was. A time without an offset is one of the time zone of the machine, and a date its
// midnight. Empty is the zero time.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.80q is not a time; write it as 2026-11-21T07:42:05Z, 2026-11-21, or how long ago, as 2h or 7d", text)
}
