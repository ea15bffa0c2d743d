package main

import (
	"slices"
	"time"
)

// series is what was measured several times.
type series []float64

// quantile returns the value below which a share q of the series is; 0 of none.
func (s series) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func (s series) median() float64 {
	if n := len(s); n > 0 && n%2 == 0 {
		sorted := slices.Sorted(slices.Values(s))
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return s.quantile(0.5)
}

// span is the least and the greatest of a series.
type span struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (s series) span() span {
	if len(s) == 0 {
		return span{}
	}
	return span{slices.Min(s), slices.Max(s)}
}

// over divides two series in pairs.
func (s series) over(other series) series {
	ratios := make(series, min(len(s), len(other)))
	for i := range ratios {
		ratios[i] = s[i] / other[i]
	}
	return ratios
}

// milliseconds turns durations into a series.
func milliseconds(durations []time.Duration) series {
	s := make(series, len(durations))
	for i, d := range durations {
		s[i] = float64(d) / float64(time.Millisecond)
	}
	return s
}
