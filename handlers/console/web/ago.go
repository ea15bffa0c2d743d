package web

import (
	"fmt"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// ShowAgo shows how long ago a time in milliseconds since the Unix epoch was, such as 3 min, with the full time as title. The script keeps
// it up to date, and has the title in the time zone of the browser.
func ShowAgo(ms int64, now time.Time) template.HTML {
	if ms == 0 {
		return "never"
	}
	t := time.UnixMilli(ms).UTC()
	return template.HTML(fmt.Sprintf(`<time class="ago" datetime="%s" title="%s">%s</time>`, //nolint:gosec // digits and words only
		t.Format("2006-01-02T15:04:05.000Z"), t.Format("Mon 2006-01-02 15:04:05 UTC"), shortAge(now.Sub(t))))
}

// shortAge is an age in one unit; of more than 99 days it is in years or months.
func shortAge(age time.Duration) string {
	const day = 24 * time.Hour
	before := ""
	if age < 0 {
		before, age = "in ", -age
	}
	switch {
	case age < 5*time.Second:
		return "now"
	case age < time.Minute:
		return fmt.Sprintf("%s%d s", before, age/time.Second)
	case age < time.Hour:
		return fmt.Sprintf("%s%d min", before, age/time.Minute)
	case age < 2*day:
		return fmt.Sprintf("%s%d h", before, age/time.Hour)
	case age < 100*day:
		return fmt.Sprintf("%s%d d", before, age/day)
	case age < 2*365*day:
		return fmt.Sprintf("%s%d mo", before, age/(30*day))
	}
	return fmt.Sprintf("%s%d y", before, age/(365*day))
}
