// Package silence finds the devices that have been silent for longer than usual.
//
// A device has a rhythm if it has sent often enough: at 4 times or more that are at least 5 minutes apart, over at least an hour of the day
// before its newest event of core-data. So a few values that a person posts by hand are not a rhythm. The rhythm is the longest pause
// between its latest 20 times of sending. To count long pauses between series of values too, it is also the longest pause between the
// latest 20 times that are 5 minutes apart, less these 5 minutes. A device is silent if nothing has come for three times its longest
// pause, and for 5 minutes at least.
//
// The rhythm is derived from the index of events by device: at most 2 × [looks] entries for each device. A device is looked at again only
// when it would be silent if nothing had come since. So the work follows the number of devices that are late, not the number of devices.
package silence

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"ledge/domain"
	"ledge/handlers/entities"
)

const (
	// looks bounds the times of sending that are read of one device, once [apart] and once [farApart].
	looks = 20
	// apart is the least time between two times of sending: a device often sends several values at once.
	apart = 2 * time.Second
	// A rhythm needs fewest times that are farApart, and shortest from the first to the last.
	fewest, farApart, shortest = 4, 5 * time.Minute, time.Hour
	// within is the part of the past that has the rhythm, up to the newest event.
	within = 24 * time.Hour
	// factor is how many of the longest pauses a device may be silent for. least is the shortest silence that counts.
	factor, least = 3, 5 * time.Minute
	// every is the least time between two sweeps, and more for each device: 30 s for 100,000 of them.
	every, more = 5 * time.Second, 250 * time.Microsecond
	// unknown is the time after which a device without a rhythm is looked at again.
	unknown = 10 * time.Minute
	// idle is how long the rhythms are kept without a query.
	idle = 10 * time.Minute
	// together is how many devices are looked at in one view of the state.
	together = 500
	// atOnce is how many devices a query waits for. If there are more, the sweep goes on in the background.
	atOnce = 2000
)

// Silence is since when a device is silent, and the longest of its usual pauses.
type Silence struct {
	Last  time.Time
	Usual time.Duration
}

// Pause is the longest usual pause, such as 20s, 10m or 2h30m.
func (s Silence) Pause() string {
	unit := time.Second
	if s.Usual >= 10*time.Minute {
		unit = time.Minute
	}
	text := s.Usual.Round(unit).String()
	for _, zero := range []string{"0s", "0m"} {
		if rest, ok := strings.CutSuffix(text, zero); ok && rest != "" && !unicode.IsDigit(rune(rest[len(rest)-1])) {
			text = rest
		}
	}
	return text
}

// Result has the silent devices by name. Known is false until all devices were looked at once.
type Result struct {
	Devices map[string]Silence
	Known   bool
}

// rhythm is the knowledge of one device.
type rhythm struct {
	Silence
	due time.Time // when to look at it again
}

// Finder finds silent devices. It keeps the rhythm of each device while it is asked.
type Finder struct {
	state, values entities.Reader
	now           func() time.Time
	running       sync.WaitGroup
	ctx           context.Context // that sweeps live in
	stop          context.CancelFunc

	mu      sync.Mutex
	rhythms map[string]rhythm
	result  Result
	swept   time.Time     // the begin of the last sweep that has ended
	under   chan struct{} // closed at the end of the sweep that is under way; nil if there is none
	err     error         // of the last sweep
	end     *time.Timer   // drops all rhythms if nobody asks
}

// New returns a finder of the devices in state with their events in values. Close ends it.
func New(state, values entities.Reader, now func() time.Time) *Finder {
	ctx, stop := context.WithCancel(context.Background())
	return &Finder{state: state, values: values, now: now, ctx: ctx, stop: stop}
}

// Close ends a sweep that is under way.
func (f *Finder) Close() {
	f.stop()
	f.running.Wait()
	f.drop()
}

func (f *Finder) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.under == nil {
		f.rhythms, f.result, f.swept = nil, Result{}, time.Time{}
	}
}

// Find returns the silent devices as of the last sweep, and begins a sweep if one is due. It waits for a sweep of a few devices. A sweep of
// many goes on in the background, and Find returns the result of the sweep before.
func (f *Finder) Find(ctx context.Context) (Result, error) {
	total, err := f.count()
	if err != nil {
		return Result{}, err
	}
	under := f.begin(total)
	if under != nil && total <= atOnce {
		select {
		case <-under:
		case <-ctx.Done():
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.result, f.err
}

// begin starts a sweep if one is due. The channel is closed at the end of the sweep that is under way; it is nil without one.
func (f *Finder) begin(total int) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end == nil {
		f.end = time.AfterFunc(idle, f.drop)
	} else {
		f.end.Reset(idle)
	}
	now, pause := f.now(), every+time.Duration(total)*more
	if f.under == nil && f.ctx.Err() == nil && (!f.result.Known || f.err != nil || now.Sub(f.swept).Abs() >= pause) {
		f.under = make(chan struct{})
		old := f.rhythms
		f.running.Go(func() { f.sweep(old, now) })
	}
	if f.under == nil {
		return nil
	}
	return f.under
}

// sweep looks at the devices that are due.
func (f *Finder) sweep(old map[string]rhythm, now time.Time) {
	rhythms, found := make(map[string]rhythm, len(old)), map[string]Silence{}
	err := f.each(func(state, values domain.View, name string) error {
		r, known := old[name]
		if !known || !now.Before(r.due) {
			var err error
			if r, err = rhythmOf(values.Lists, name, now); err != nil {
				return err
			}
		}
		if rhythms[name] = r; r.isSilent(now) && isExpected(state.State, name) {
			found[name] = r.Silence
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.rhythms, f.result, f.swept = rhythms, Result{found, true}, now
	}
	close(f.under)
	f.under = nil
}

// each calls look for each device, in short views.
func (f *Finder) each(look func(state, values domain.View, name string) error) error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for some := range slices.Chunk(names, together) {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		failed := domain.Try(func() { err = f.eachOf(some, look) })
		if err = cmp.Or(failed, err); err != nil {
			return err
		}
	}
	return nil
}

func (f *Finder) eachOf(names []string, look func(state, values domain.View, name string) error) error {
	state, done := f.state()
	defer done()
	values, end := f.values()
	defer end()
	for _, name := range names {
		if err := look(state, values, name); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many devices there are, without a walk.
func (f *Finder) count() (total int, err error) {
	view, done := f.state()
	defer done()
	_, total, err = view.Lists.Keys(domain.ListDevices, domain.Page{})
	return total, err
}

// names are those of all devices.
func (f *Finder) names() (names []string, err error) {
	view, done := f.state()
	defer done()
	names, _, err = view.Lists.Keys(domain.ListDevices, domain.Page{Limit: math.MaxInt})
	return names, err
}

// rhythmOf derives the rhythm of a device.
func rhythmOf(lists domain.Lists, name string, now time.Time) (r rhythm, err error) {
	long, err := timesOf(lists, name, farApart)
	if len(long) < fewest || time.Duration(long[0]-long[len(long)-1]) < shortest || err != nil {
		return rhythm{due: now.Add(unknown)}, err
	}
	latest, err := timesOf(lists, name, apart)
	if err != nil {
		return rhythm{}, err
	}
	r.Last = time.Unix(0, long[0])
	r.Usual = max(longestPause(latest), longestPause(long)-farApart)
	if r.due = r.Begin(); r.isSilent(now) {
		r.due = now // something may come at any time
	}
	return r, nil
}

// timesOf returns the latest times of sending in the day before the newest one, newest first, in nanoseconds since the Unix epoch.
func timesOf(lists domain.Lists, name string, apart time.Duration) ([]int64, error) {
	times, err := lists.Origins(name, apart, looks)
	return slices.DeleteFunc(times, func(at int64) bool { return at <= times[0]-int64(within) }), err
}

func longestPause(times []int64) (longest time.Duration) {
	for i := range len(times) - 1 {
		longest = max(longest, time.Duration(times[i]-times[i+1]))
	}
	return longest
}

// Begin is when the device is silent if nothing comes.
func (s Silence) Begin() time.Time { return s.Last.Add(max(factor*s.Usual, least)) }

// isSilent reports whether the device has a rhythm and is late.
func (s Silence) isSilent(now time.Time) bool { return s.Usual > 0 && now.After(s.Begin()) }

// isExpected reports whether the device is there and may send: nothing is expected of a device that is DOWN or LOCKED.
func isExpected(state domain.State, name string) bool {
	d, ok := state.Devices.Get(name)
	return ok && len(domain.Troubled(nil, d)) == 0
}
