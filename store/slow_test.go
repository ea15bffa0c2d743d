package store_test

import (
	"strings"
	"testing"
	"time"

	"ledge/store/storetest"
)

// TestSlowAcknowledgementIsNoFailedWrite has a server that is healthy take much longer than AckTimeout.
func TestSlowAcknowledgementIsNoFailedWrite(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	logged := &lines{}
	o.Logger, o.AckTimeout = newLogger(logged), 100*time.Millisecond
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	s.Events().DelayAcks(700*time.Millisecond, func(string) bool { return false })
	storetest.MustAdd(t, a, "slow", 1)
	if logged.count("the log is slow") != 1 || logged.count("jetstream restarted in place") != 0 {
		t.Errorf("logged:\n%s", logged.text.String())
	}
	if err := s.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLostAcknowledgementIsNoticed holds that what is published behind a run tells when its acknowledgement will not come. The
// event was written, and is answered so.
func TestLostAcknowledgementIsNoticed(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	logged := &lines{}
	o.Logger, o.AckTimeout = newLogger(logged), 100*time.Millisecond
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	s.Events().DelayAcks(0, func(subject string) bool { return !strings.HasSuffix(subject, ".probe") })
	storetest.MustAdd(t, a, "lost", 1)
	if logged.count("jetstream restarted in place") != 1 {
		t.Errorf("logged:\n%s", logged.text.String())
	}
}
