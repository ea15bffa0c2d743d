package domain

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// isoForm is a duration of ISO 8601, 5.5.2.2, in units that always have the same length: weeks to seconds. The last may
// have a fraction.
var isoForm = regexp.MustCompile(`^P(?:([0-9.,]+)W)?(?:([0-9.,]+)D)?(?:T(?:([0-9.,]+)H)?(?:([0-9.,]+)M)?(?:([0-9.,]+)S)?)?$`)

var isoUnits = []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}

// ParseDuration reads a duration of Go, as EdgeX 2.3 does (300ms, 1h30m), or of ISO 8601, as its OpenAPI document says
// (PT10S, P1DT12H). It takes none that is negative or longer than 292 years; ISO 8601's years and months have no length.
func ParseDuration(text string) (d time.Duration, ok bool) {
	if strings.HasPrefix(text, "P") {
		return parseISO(text)
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

func parseISO(text string) (time.Duration, bool) {
	parts := isoForm.FindStringSubmatch(text)
	if parts == nil || strings.HasSuffix(text, "T") {
		return 0, false
	}
	var sum float64
	given, fraction := false, false
	for i, part := range parts[1:] {
		if part == "" {
			continue
		}
		part = strings.Replace(part, ",", ".", 1)
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || fraction {
			return 0, false
		}
		given, fraction = true, strings.Contains(part, ".")
		sum += n * float64(isoUnits[i])
	}
	return time.Duration(sum), given && sum < math.MaxInt64
}

func (p *Problems) checkInterval(path, value string) {
	if _, ok := ParseDuration(value); !ok {
		p.Add(path, "%s is not a duration; write it as 300ms, 10s or 24h, or as PT10S or P1D", quote(value))
	}
}
