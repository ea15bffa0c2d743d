package bridge

import (
	"testing"
	"time"

	"ledge/domain"
)

func TestResend(t *testing.T) {
	own := Resend{Limit: 20, Interval: time.Second}
	for _, tt := range []struct {
		limit    int
		interval string
		want     int
		every    time.Duration
		fixed    bool
	}{
		{0, "", 20, time.Second, false},
		{3, "", 3, 5 * time.Second, true},
		{0, "100ms", 2, 100 * time.Millisecond, true},
		{3, "100ms", 3, 100 * time.Millisecond, true},
		{1000, "PT1S", domain.MaxTries - 1, time.Second, true},
	} {
		limit, every, fixed := own.of(domain.Subscription{ResendLimit: tt.limit, ResendInterval: tt.interval})
		if limit != tt.want || every != tt.every || fixed != tt.fixed {
			t.Errorf("resendLimit %d, resendInterval %q: got %d, %v, %v; want %+v", tt.limit, tt.interval, limit, every, fixed, tt)
		}
	}
}
