package node

import (
	"fmt"
	"time"
)

// firstYear and endYear bound the clock at a start: the log keeps times in nanoseconds since the Unix epoch, which end in the year endYear.
const firstYear, endYear = 1970, 2262

// CheckClock refuses a time that the log cannot keep.
func CheckClock(at time.Time) error {
	if at = at.UTC(); at.Year() < firstYear || at.Year() >= endYear {
		return fmt.Errorf("the clock of this machine says %s, and events have times from %d to %d; "+
			"set the clock, such as with `timedatectl set-time`, and start again", at.Format(time.RFC3339), firstYear, endYear-1)
	}
	return nil
}
