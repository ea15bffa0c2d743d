package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// duration is a time.Duration that is written as 500ms, 36h, 2w, 90d or 1d12h. A day has 24 hours, a week 7 days. It is a pflag.Value.
type duration time.Duration

func newDuration(p *time.Duration, value time.Duration) *duration {
	*p = value
	return (*duration)(p)
}

// String writes whole days as days, and leaves out units that are 0.
func (d *duration) String() string {
	rest := time.Duration(*d)
	days := ""
	if rest >= oneDay {
		days = strconv.FormatInt(int64(rest/oneDay), 10) + "d"
		if rest %= oneDay; rest == 0 {
			return days
		}
	}
	text := rest.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return days + text
}

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	value, err := ParseDuration(text)
	if err == nil {
		*d = duration(value)
	}
	return err
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

const oneDay = 24 * time.Hour

// longDuration is a sign, weeks, days, and what time.ParseDuration reads.
var longDuration = regexp.MustCompile(`^([+-]?)(?:([0-9]+(?:\.[0-9]+)?)w)?(?:([0-9]+(?:\.[0-9]+)?)d)?([0-9.].*)?$`)

// ParseDuration reads a duration as time.ParseDuration does. It may begin with weeks and days.
func ParseDuration(text string) (time.Duration, error) {
	parts := longDuration.FindStringSubmatch(text)
	if parts == nil || parts[2] == "" && parts[3] == "" {
		return time.ParseDuration(text)
	}
	weeks, _ := strconv.ParseFloat(parts[2], 64) // 0 for none
	days, _ := strconv.ParseFloat(parts[3], 64)
	long := (7*weeks + days) * float64(oneDay)
	var rest time.Duration
	var err error
	if parts[4] != "" {
		rest, err = time.ParseDuration(parts[4])
	}
	if err != nil || long > math.MaxInt64/2 || time.Duration(long)+rest < 0 {
		return 0, fmt.Errorf("time: invalid duration %q", text)
	}
	if parts[1] == "-" {
		return -time.Duration(long) - rest, nil
	}
	return time.Duration(long) + rest, nil
}
