package datadir

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"ledge/cmd/internal/loop"
)

const (
	// sampleEvery is the time between two samples of the free space, growthSpan the time that the growth is taken from, and leastSpan the
	// shortest one that a forecast needs.
	sampleEvery, growthSpan, leastSpan = 10 * time.Minute, 24 * time.Hour, time.Hour
	// soonFull is the time within which a disk is soon full.
	soonFull = 30 * 24 * time.Hour
	// nearlyFull is how many times the reserve a disk has free that is nearly full.
	nearlyFull = 2
)

// Forecast says when the disk will be full, from the free space of the last day.
type Forecast struct {
	free    func() (uint64, error) // in bytes
	reserve uint64                 // the free space, in bytes, below which readings are refused

	mu      sync.Mutex
	samples []freeSpace // oldest first
}

// freeSpace is the free space at a time, in bytes.
type freeSpace struct {
	at   time.Time
	free uint64
}

// NewForecast returns a forecast of when the free space, in bytes, falls below the reserve, at which readings are refused.
func NewForecast(free func() (uint64, error), reserve uint64) *Forecast {
	return &Forecast{free: free, reserve: reserve}
}

// Run takes samples until ctx ends. A sample that cannot be read is left out: the metrics log the error.
func (f *Forecast) Run(ctx context.Context) error {
	return loop.Every(ctx, sampleEvery, func(context.Context) {
		if free, err := f.free(); err == nil {
			f.add(freeSpace{time.Now(), free})
		}
	})
}

func (f *Forecast) add(s freeSpace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.samples = append(f.samples, s)
	for s.at.Sub(f.samples[0].at) > growthSpan {
		f.samples = f.samples[1:]
	}
}

// Warnings says that the disk is nearly full, or will be full soon.
func (f *Forecast) Warnings() []string {
	if f == nil {
		return nil
	}
	const cure = "set a retention, add disk space, or raise max-bytes if it is set"
	if free, err := f.free(); err == nil && free < nearlyFull*f.reserve {
		const text = "the disk is nearly full: %s are free, and readings are refused below %s; %s"
		return []string{fmt.Sprintf(text, inGB(free), inGB(f.reserve), cure)}
	}
	if left, over, ok := f.left(); ok && left < soonFull {
		const text = "the disk will be full in %s, as fast as it has filled in the last %s; %s"
		return []string{fmt.Sprintf(text, roundTime(left), roundTime(over), cure)}
	}
	return nil
}

// left is how long the free space lasts, at the growth of a time up to the last sample. ok is false if the disk does not fill, or if that
// is not known yet.
func (f *Forecast) left() (left, over time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.samples) == 0 {
		return 0, 0, false
	}
	first, last := f.samples[0], f.samples[len(f.samples)-1]
	over = last.at.Sub(first.at)
	if over < leastSpan || last.free >= first.free || last.free <= f.reserve {
		return 0, over, false
	}
	most := float64(math.MaxInt64)
	return time.Duration(min(most/2, float64(over)*float64(last.free-f.reserve)/float64(first.free-last.free))), over, true
}

// inGB is a size in gigabytes.
func inGB(bytes uint64) string { return fmt.Sprintf("%.1f GB", float64(bytes)/1e9) }

// roundTime is a duration in days, or in hours if it is shorter than two days.
func roundTime(d time.Duration) string {
	n, unit := max(1, int(d.Round(time.Hour)/time.Hour)), "hour"
	if n >= 48 {
		n, unit = n/24, "day"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
