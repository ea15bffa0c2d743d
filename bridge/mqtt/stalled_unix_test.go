//go:build unix

package mqtt

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"ledge/bridge/outward"
)

func TestStalledBroker(t *testing.T) {
	b := mustBroker(t, anonymous, nil)
	s := mustSender(t, func(o *Options) { o.Timeout = 300 * time.Millisecond })
	mustSendInTime := func(body string) {
		t.Helper()
		var err error
		for began := time.Now(); time.Since(began) < hangs; {
			if _, err = send(s, b.target(2), body); err == nil {
				return
			}
		}
		t.Fatal(err)
	}
	mustSendInTime("before")
	if err := b.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"has not acknowledged the message", "connect to the broker"} { // the second finds the connection given up
		if _, err := send(s, b.target(2), "stalled"); err == nil || outward.Permanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("stalled: got %v, want %q", err, want)
		}
	}
	if err := b.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	mustSendInTime("after")
}
