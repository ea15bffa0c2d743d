package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// work is something that several workers do count times in all, each waiting for the end of one before its next.
type work struct {
	workers, count int
	each           int // what is counted, done by one call of do
	limit          time.Duration
	do             func(worker, i int) error
}

// measured is what one run of a work took.
type measured struct {
	done  int             // of what is counted
	rate  float64         // a second
	times []time.Duration // of each call
	cpu   time.Duration   // of the server, for all calls and what they left it to do; 0 where it is not known
}

// run ends early, without an error, at the limit.
func (w work) run(ctx context.Context) (measured, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	times := make([][]time.Duration, w.workers)
	errs := make([]error, w.workers)
	var next atomic.Int64
	var all sync.WaitGroup
	started := time.Now()
	for worker := range w.workers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(w.count) && ctx.Err() == nil; i = next.Add(1) - 1 {
				from := time.Now()
				if errs[worker] = w.do(worker, int(i)); errs[worker] != nil {
					cancel()
					return
				}
				times[worker] = append(times[worker], time.Since(from))
			}
		})
	}
	all.Wait()
	took := time.Since(started)
	var m measured
	for _, t := range times {
		m.times = append(m.times, t...)
	}
	m.done = len(m.times) * w.each
	m.rate = float64(m.done) / took.Seconds()
	return m, errors.Join(errs...)
}

// side is one of the two that are compared. The round is 0 for the one that is not counted.
type side func(ctx context.Context, round int) (measured, error)

// results are the rounds of one side.
type results struct {
	rates series
	times []time.Duration
	tails series // milliseconds, the 99th percentile of each round
	cpu   series // microseconds for one of what is counted
}

func (r *results) add(m measured) {
	r.rates = append(r.rates, m.rate)
	r.times = append(r.times, m.times...)
	r.tails = append(r.tails, milliseconds(m.times).quantile(0.99))
	if m.cpu > 0 && m.done > 0 {
		r.cpu = append(r.cpu, float64(m.cpu)/float64(time.Microsecond)/float64(m.done))
	}
}

// compare measures the sides in turns: all of them, then all of them again. The first turn warms up.
func compare(ctx context.Context, rounds int, sides ...side) ([]results, error) {
	all := make([]results, len(sides))
	for round := range rounds + 1 {
		for i, s := range sides {
			m, err := s(ctx, round)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[i].add(m)
			}
		}
	}
	return all, nil
}

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
