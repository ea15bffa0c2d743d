package logs

import (
	"testing"
)

func TestSubjectPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, subject string
		want             bool
	}{
		{"ledge.event.device.cam-1.added", "ledge.event.device.cam-1.added", true},
		{"ledge.*.device.*.added", "ledge.event.device.cam-1.added", true},
		{"ledge.>", "ledge.event.device.cam-1.added", true},
		{"ledge.event.device.cam-1.added.>", "ledge.event.device.cam-1.added", false},
		{"ledge.event", "ledge.event.device", false},
		{"ledge.event.*", "ledge.event.device.x", false},
		{"ledge.>.x", "ledge.event.x", false},
	} {
		if got := subjectMatches(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("%s, %s: got %v", tt.pattern, tt.subject, got)
		}
	}
}
