package main

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// growthSpan is how far back the growth of the log of changes is looked at, growthLeast how long it must have been
	// looked at before it says anything.
	growthSpan  = 6 * time.Hour
	growthLeast = 10 * time.Minute
	// growthEvery is the time between two samples: 72 of them in growthSpan.
	growthEvery = 5 * time.Minute
	// fewDays of disk that are left are worth a warning, once a day.
	fewDays = 30
)

// growth estimates for how many days the disk lasts.
type growth struct {
	samples []sample // oldest first
	last    sample
	warned  time.Time
}

// sample is how many bytes the log of changes takes at a time, with its archives where these are on the same disk.
type sample struct {
	at    time.Time
	bytes int64
}

func (g *growth) add(at time.Time, bytes int64) {
	g.last = sample{at, bytes}
	if n := len(g.samples); n > 0 && at.Sub(g.samples[n-1].at) < growthEvery {
		return
	}
	g.samples = append(g.samples, g.last)
	for len(g.samples) > 1 && at.Sub(g.samples[1].at) >= growthSpan {
		g.samples = g.samples[1:]
	}
}

// days returns for how many days so many bytes last; +Inf where nothing grows or it is too early to say.
func (g *growth) days(free int64) float64 {
	if len(g.samples) == 0 {
		return math.Inf(1)
	}
	first := g.samples[0]
	span, grown := g.last.at.Sub(first.at), g.last.bytes-first.bytes
	if span < growthLeast || grown <= 0 {
		return math.Inf(1)
	}
	return float64(max(free, 0)) / float64(grown) * span.Hours() / 24
}

// archiveUse is what the metrics show of the log of changes and its archives.
type archiveUse struct {
	LiveBytes     int64 `json:"liveBytes"`
	ArchivedBytes int64 `json:"archivedBytes"`
	Archives      int   `json:"archives"`
	// DaysLeft is for how many days the disk lasts if the log grows as it did in the last hours; nil where it does not grow,
	// or it is too early to say.
	DaysLeft *float64 `json:"daysOfDiskLeft,omitempty"`
}

func (u archiveUse) days() float64 {
	if u.DaysLeft == nil {
		return math.Inf(1)
	}
	return *u.DaysLeft
}

// use looks at the files.
func (a *archiver) use() (u archiveUse, err error) {
	st, err := a.log.Stats()
	archives := a.d.store.Archives()
	bytes, aerr := archives.Bytes()
	list, lerr := archives.List()
	u = archiveUse{LiveBytes: st.Bytes, ArchivedBytes: bytes, Archives: len(list)}
	if days := a.daysLeft(); !math.IsInf(days, 1) {
		u.DaysLeft = &days
	}
	return u, errors.Join(err, aerr, lerr)
}

// measure takes a sample, and warns where few days of disk are left.
func (a *archiver) measure() {
	u, err := a.use()
	if err != nil {
		a.logger.Warn("the growth of the log of changes is not known", "error", err)
		return
	}
	bytes := u.LiveBytes
	if a.c.ArchiveDir == "" { // else it is most likely another disk
		bytes += u.ArchivedBytes
	}
	a.mu.Lock()
	a.growth.add(a.now(), bytes)
	a.mu.Unlock()
	days := a.daysLeft()
	a.mu.Lock()
	defer a.mu.Unlock()
	if days < fewDays && a.now().Sub(a.growth.warned) >= 24*time.Hour {
		a.growth.warned = a.now()
		a.logger.Warn("the disk will be full soon, at the growth of the last hours", "days", math.Round(10*days)/10, "cure", diskCure)
	}
}

const diskCure = "set events-max-bytes, with archive-dir on another disk, or add disk space"

// daysLeft is for how many days the disk lasts; +Inf where that is not known.
func (a *archiver) daysLeft() float64 {
	free, err := a.d.store.FreeBytes()
	if err != nil {
		return math.Inf(1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.growth.days(int64(min(free, 1<<62)) - int64(a.c.DiskReserve))
}

// warnings are for the answer of GET /health: what an operator has to look at while the service works.
func (a *archiver) warnings() (list []string) {
	if days := a.daysLeft(); days < fewDays {
		list = append(list, fmt.Sprintf("the disk will be full in %.1f days at the growth of the last hours: %s", days, diskCure))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble != nil {
		list = append(list, fmt.Sprintf("the log of changes is over its limit and not archived: %v", a.trouble))
	}
	return list
}
