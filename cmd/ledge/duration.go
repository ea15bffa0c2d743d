package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// duration is a time.Duration that is written as 500ms, 36h, 90d or 1d12h. A day has 24 hours. It is a pflag.Value.
type duration time.Duration

func newDuration(p *time.Duration, value time.Duration) *duration {
	*p = value
	return (*duration)(p)
}

func (d *duration) String() string { return time.Duration(*d).String() }

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	value, err := parseDuration(text)
	if err == nil {
		*d = duration(value)
	}
	return err
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

const oneDay = 24 * time.Hour

// parseDuration reads a duration as time.ParseDuration does. It may begin with days.
func parseDuration(text string) (time.Duration, error) {
	unsigned := strings.TrimLeft(text, "+-")
	count, rest, found := strings.Cut(unsigned, "d")
	if !found {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseFloat(count, 64)
	if err != nil || count[0] == '-' || count[0] == '+' || !(days*float64(oneDay) <= math.MaxInt64/2) || len(text)-len(unsigned) > 1 {
		return 0, fmt.Errorf("time: invalid duration %q", text)
	}
	d := time.Duration(days * float64(oneDay))
	if rest != "" {
		more, err := time.ParseDuration(rest)
		if err != nil || strings.ContainsAny(rest[:1], "+-") || d+more < 0 {
			return 0, fmt.Errorf("time: invalid duration %q", text)
		}
		d += more
	}
	if text[0] == '-' {
		d = -d
	}
	return d, nil
}
