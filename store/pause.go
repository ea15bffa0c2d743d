package store

import "time"

// pause returns after d, or when end is closed.
func pause(d time.Duration, end <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-end:
	}
}
