package config

import (
	"strconv"
	"strings"
	"time"

	"ledge/domain/moment"
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
	value, err := moment.ParseDuration(text)
	if err == nil {
		*d = duration(value)
	}
	return err
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

const oneDay = 24 * time.Hour
