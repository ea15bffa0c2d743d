package domain

import (
	"runtime"
	"strings"
	"testing"
)

// TestLargeUpdate counts what is allocated for a change of a long text, in lengths of its JSON. Encoding/json takes 3.5 to encode it and
// 6 to decode it, and several times the processor: the appender does it while all others wait.
func TestLargeUpdate(t *testing.T) {
	s := given(onboarded()...)
	device, _ := s.Devices.Get("cam-1")
	device.Description = strings.Repeat("was ", 500_000)
	s.Devices.Put(device.Name, device)
	e := mustDecide(t, s, patchCamera(func(p *DevicePatch) { p.Description = new(strings.Repeat("is now ", 300_000)) }))
	w := mustEncode(t, e)
	for _, c := range []struct {
		name string
		most float64
		run  func()
	}{
		{"encode", 2.5, func() { mustEncode(t, e) }},
		{"decode", 4, func() { mustDecode(t, w) }},
		{"evolve", 1, func() { e.Evolve(s) }},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.run()
		runtime.ReadMemStats(&after)
		if got := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(w.Data)); got > c.most {
			t.Errorf("%s allocates %.1f lengths, want %.1f at most", c.name, got, c.most)
		}
	}
}
