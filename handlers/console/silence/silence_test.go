package silence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// site is devices with their events, at a time that a test sets.
type site struct {
	*handlerstest.Log // of changes
	values            *handlerstest.Log
	*Finder
	clock  time.Time
	events int
}

func newSite(tb testing.TB, devices ...string) *site {
	tb.Helper()
	s := &site{Log: handlerstest.NewLog(), values: handlerstest.NewLog(), clock: time.Unix(1_800_000_000, 0)}
	service := domain.DeviceService{ID: handlerstest.ID(1), Name: "s", BaseAddress: "http://localhost:1", AdminState: "UNLOCKED"}
	s.Given(tb, domain.AddService{Service: service}, domain.AddProfile{Profile: domain.Profile{ID: handlerstest.ID(2), Name: "p"}})
	for i, name := range devices {
		s.Given(tb, domain.AddDevice{Device: domain.Device{
			ID: handlerstest.ID(10 + i), Name: name, AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "s", ProfileName: "p",
			Protocols: map[string]map[string]string{"other": {}},
		}})
	}
	s.Finder = New(s.View, s.values.View, func() time.Time { return s.clock })
	tb.Cleanup(s.Close)
	return s
}

// post has a device post at some times before the clock.
func (s *site) post(tb testing.TB, device string, ago ...time.Duration) {
	tb.Helper()
	for _, one := range ago {
		s.events++
		s.values.Given(tb, domain.PostReading{Reading: domain.ReadingPosted{Value: []byte("x"), Reading: domain.Reading{
			ID: handlerstest.ID(1000 + s.events), Profile: "p", Device: device, Resource: "r", ValueType: "String",
			Origin: s.clock.Add(-one).UnixNano(),
		}}})
	}
}

func (s *site) silent(tb testing.TB) string {
	tb.Helper()
	r, err := s.Find(tb.Context())
	if err != nil || !r.Known {
		tb.Fatal(r, err)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Devices)) {
		list = append(list, fmt.Sprintf("%s %s", name, r.Devices[name].Usual))
	}
	return strings.Join(list, ", ")
}

func everyTen(from, to time.Duration) []time.Duration { return timesEvery(10*time.Minute, from, to) }

// timesEvery returns the times from one to another, a pause apart.
func timesEvery(pause, from, to time.Duration) (ago []time.Duration) {
	for at := from; at <= to; at += pause {
		ago = append(ago, at)
	}
	return ago
}

// TestRhythm holds how much evidence a rhythm needs. Before, four values that were posted by hand within seconds were one: the device was
// silent two minutes later. A series of more than 20 values hid the pause before it.
func TestRhythm(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	series := slices.Concat(timesEvery(5*s, 2*h, 2*h+5*m), timesEvery(5*s, 3*h, 3*h+5*m), timesEvery(5*s, 4*h, 4*h+5*m))
	for name, one := range map[string]struct {
		ago  []time.Duration
		want string // the longest pause, if the device is silent
	}{
		"by hand":                             {timesEvery(7*s, 10*m, 11*m), ""},
		"by hand, twice":                      {slices.Concat(timesEvery(7*s, 2*h, 2*h+m), timesEvery(7*s, 3*h, 3*h+m)), ""},
		"by hand, and the day before":         {slices.Concat(timesEvery(7*s, 10*m, 11*m), timesEvery(10*m, 25*h, 27*h)), ""},
		"for half an hour":                    {timesEvery(m, 10*m, 40*m), ""},
		"every 30 s, silent for 4 minutes":    {timesEvery(30*s, 4*m, 80*m), ""},
		"every 30 s, silent for 5 minutes":    {timesEvery(30*s, 5*m+s, 80*m), "30s"},
		"every 6 minutes, silent for 18":      {timesEvery(6*m, 18*m+s, 90*m), "6m0s"},
		"every 6 minutes, silent for 17":      {timesEvery(6*m, 17*m, 90*m), ""},
		"a series each hour, silent for 2 h":  {series, ""},
		"every 6 hours, silent for 19":        {timesEvery(6*h, 19*h, 50*h), "6h0m0s"},
		"once a day, silent for a long while": {timesEvery(24*h, 200*h, 300*h), ""},
	} {
		p := newSite(t, "d")
		p.post(t, "d", one.ago...)
		want := ""
		if one.want != "" {
			want = "d " + one.want
		}
		if got := p.silent(t); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestFind has devices with a rhythm of their own fall silent, speak again, and go.
func TestFind(t *testing.T) {
	s := newSite(t, "boiler", "burst", "camera", "meter", "new")
	s.post(t, "boiler", everyTen(0, time.Hour)...)
	s.post(t, "camera", everyTen(4*time.Hour, 6*time.Hour)...)                            // silent for 4 h
	s.post(t, "meter", 3*time.Hour, 6*time.Hour, 9*time.Hour, 12*time.Hour, 40*time.Hour) // it has more than a day between two events once
	s.post(t, "new", time.Hour, 2*time.Hour)                                              // too few to know a rhythm
	for round := time.Duration(0); round < 5; round++ {                                   // 40 values at once, every 20 minutes
		for i := range 40 {
			s.post(t, "burst", 20*time.Minute*(round+1)+time.Duration(i)*time.Millisecond)
		}
	}
	if got := s.silent(t); got != "camera 10m0s" {
		t.Errorf("at first: %q", got)
	}
	s.clock = s.clock.Add(31 * time.Minute)
	if got := s.silent(t); got != "boiler 10m0s, camera 10m0s" {
		t.Errorf("31 minutes later: %q", got)
	}
	s.post(t, "camera", 0)
	s.clock = s.clock.Add(10 * time.Second)
	if got := s.silent(t); got != "boiler 10m0s" {
		t.Errorf("when the camera has posted: %q", got)
	}
	s.Given(t, domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", "boiler", "adminState", domain.StateLocked)})
	s.clock = s.clock.Add(10 * time.Second)
	if got := s.silent(t); got != "" {
		t.Errorf("when the boiler is locked: %q", got)
	}
	s.clock = s.clock.Add(90 * time.Minute)
	if got := s.silent(t); !strings.HasPrefix(got, "burst 20m") {
		t.Errorf("two hours later: %q", got)
	}
}

func TestPause(t *testing.T) {
	for usual, want := range map[time.Duration]string{
		20 * time.Second: "20s", 90 * time.Second: "1m30s", 10*time.Minute + 10*time.Second: "10m",
		time.Hour: "1h", 150 * time.Minute: "2h30m", 20 * time.Hour: "20h",
	} {
		if got := (Silence{Usual: usual}).Pause(); got != want {
			t.Errorf("%s: got %q, want %q", usual, got, want)
		}
	}
}

// TestSweepIsNotRepeated holds that a query soon after another one looks at nothing, and that a sweep looks only at devices that are due.
func TestSweepIsNotRepeated(t *testing.T) {
	s := newSite(t, "boiler", "camera")
	s.post(t, "boiler", everyTen(0, time.Hour)...)
	s.post(t, "camera", everyTen(4*time.Hour, 6*time.Hour)...)
	looked := 0
	s.Finder.values = func() (domain.View, func()) {
		v, done := s.values.View()
		v.Lists = counted{v.Lists, &looked}
		return v, done
	}
	for i, one := range []struct {
		after time.Duration
		want  int
	}{{0, 2}, {time.Second, 0}, {10 * time.Second, 1}, {40 * time.Minute, 2}} {
		s.clock = s.clock.Add(one.after)
		looked = 0
		if s.silent(t); looked != one.want {
			t.Errorf("query %d looked at %d devices, want %d", i, looked, one.want)
		}
	}
}

// counted counts the devices whose events are looked at.
type counted struct {
	domain.Lists
	looked *int
}

func (c counted) Origins(device string, apart time.Duration, most int) ([]int64, error) {
	if apart == farApart { // the first look
		*c.looked++
	}
	return c.Lists.Origins(device, apart, most)
}
