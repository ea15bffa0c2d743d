package moment

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

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
