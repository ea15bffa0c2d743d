package domain

import (
	"strings"
	"testing"
)

func TestDurations(t *testing.T) {
	for text, ok := range map[string]bool{
		"0s": true, "300ms": true, "10s": true, "1h30m": true, "1.5h": true,
		"": false, "10": false, "ten": false, "-1s": false, " 1s": false, "1d": false, "9999999h": false,
	} {
		p := with(camera(), func(d *Device) { d.AutoEvents = []AutoEvent{{Interval: text, SourceName: "zoom"}} }).Check()
		if ok != (len(p) == 0) {
			t.Errorf("%q: got %q, want it taken: %t", text, p, ok)
		}
		if !ok && !strings.Contains(strings.Join(p, ""), "is no duration; write it as 300ms, 10s or 24h") {
			t.Errorf("%q: got %q, which names no cure", text, p)
		}
	}
}
