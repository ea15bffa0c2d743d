package consolesource

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/loop"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/console"
)

// Versions implements console.System.
func (s *Source) Versions() []console.Versioned {
	all := []console.Versioned{{What: "Ledge", Version: s.Version}, {What: "Go", Version: runtime.Version()}, {What: "Platform", Version: runtime.GOOS + "/" + runtime.GOARCH}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return all
	}
	for _, one := range info.Settings {
		if one.Key == "vcs.revision" {
			all = append(all, console.Versioned{What: "Revision", Version: one.Value})
		}
	}
	for _, m := range info.Deps {
		if name, ok := shownModules[m.Path]; ok {
			all = append(all, console.Versioned{What: name, Version: m.Version})
		}
	}
	return all
}

// shownModules are the libraries whose versions an operator may be asked for.
var shownModules = map[string]string{
	"github.com/nats-io/nats-server/v2": "NATS server", "github.com/go-zeromq/zmq4": "zmq4", "go.etcd.io/bbolt": "bbolt", "github.com/gin-gonic/gin": "Gin",
}

// Status implements console.System.
func (s *Source) Status() (st console.Status) {
	st.Space = s.space()
	for _, one := range services.All {
		if err := s.Ready(one.Name); err != nil && one.Name != services.Console {
			st.Troubles = append(st.Troubles, one.Name+": "+err.Error())
		}
	}
	st.Troubles = append(st.Troubles, s.Warnings()...)
	st.ChangesPerSecond, st.ReadingsPerSecond = s.rates.now(s.upTo())
	return st
}

func (s *Source) space() (space console.Space) {
	free, err := s.Node.Store.FreeBytes()
	if err != nil {
		s.Logger.Warn("the free disk space is not known", "error", err)
	}
	total, err := s.Node.Store.TotalBytes()
	if err != nil {
		s.Logger.Warn("the size of the disk is not known", "error", err)
	}
	space.FreeBytes, space.TotalBytes = int64(min(free, 1<<62)), int64(min(total, 1<<62))
	if most := s.Limits().Max; most > 0 {
		space.TotalBytes = min(space.TotalBytes, most)
	}
	if total := space.TotalBytes; total > 0 {
		space.Percent = int(100 * (1 - float64(min(space.FreeBytes, total))/float64(total)))
	}
	space.UsedBytes = s.Meters.PayloadBytes()
	for _, one := range s.Node.Parts() {
		space.UsedBytes += s.Meters.StreamBytes(one)
	}
	return space
}

// Disk implements console.System.
func (s *Source) Disk() console.Disk {
	d := s.Limits()
	d.Space = s.space()
	add := func(what string, bytes int64) {
		d.Parts, d.Own = append(d.Parts, console.DiskPart{What: what, Bytes: bytes}), d.Own+bytes
	}
	for i, what := range []string{"log of changes", "log of notifications", "log of readings"} {
		add(what, s.Meters.StreamBytes(s.Node.Parts()[i]))
	}
	add("large values of readings", s.Meters.PayloadBytes())
	add("archives of changes", s.Meters.ChangesUse().Archive.ArchivedBytes)
	states := int64(0)
	for _, name := range datadir.StateFiles {
		if info, err := os.Stat(filepath.Join(s.DataDir, name)); err == nil {
			states += info.Size()
		}
	}
	add("state, which is made of the logs", states)
	return d
}

// Endpoints implements console.System.
func (s *Source) Endpoints() []domain.EndpointState { return s.Channels.Delivery.Endpoints() }

// TryNow implements console.System.
func (s *Source) TryNow(c domain.Channel) int { return s.Channels.Delivery.TryNow(c) }

// TryTransmission implements console.System.
func (s *Source) TryTransmission(t domain.Transmission) bool {
	return s.Channels.Delivery.TryTransmission(t)
}

// Callbacks implements console.System.
func (s *Source) Callbacks(service string) (last []console.Callback, waiting int) {
	calls, waiting := s.Channels.Callbacks.LastCalls(service)
	for _, one := range calls {
		last = append(last, console.Callback{
			Kind: one.Kind, Entity: one.Entity, Method: one.Method, Answer: one.Answer, At: one.At.UnixMilli(), Accepted: one.Accepted,
		})
	}
	slices.SortFunc(last, func(a, b console.Callback) int { return cmp.Compare(b.At, a.At) })
	return last, waiting
}

// rates are how many events were recorded in the last seconds.
type rates struct {
	mu      sync.Mutex
	samples []upTo // oldest first
}

// upTo is the last sequences at a time.
type upTo struct {
	at                time.Time
	changes, readings uint64
}

const (
	// rateEvery is the time between two samples, rateSamples how many are kept: a rate is that of the last ten seconds.
	rateEvery   = 2 * time.Second
	rateSamples = 5
)

func (s *Source) upTo() upTo {
	changes, _ := s.Node.Changes.Log.Last()
	readings, _ := s.Node.Readings.Log.Last()
	return upTo{time.Now(), changes, readings}
}

// Run takes samples until ctx ends.
func (s *Source) Run(ctx context.Context) error {
	return loop.Every(ctx, rateEvery, func(context.Context) { s.rates.add(s.upTo()) })
}

func (r *rates) add(c upTo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.samples = append(r.samples, c); len(r.samples) > rateSamples {
		r.samples = r.samples[1:]
	}
}

// now returns the rates per second up to now.
func (r *rates) now(c upTo) (changes, readings float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == 0 {
		return 0, 0
	}
	first := r.samples[0]
	span := max(c.at.Sub(first.at).Seconds(), 1)
	return float64(c.changes-first.changes) / span, float64(c.readings-first.readings) / span
}
