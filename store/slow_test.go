package store_test

import (
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
	if logged.count("the log is slow") != 1 || logged.count("the log's server was started again") != 0 {
		t.Errorf("logged:\n%s", logged.text.String())
	}
	if err := s.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLostAcknowledgementIsNoticed has an acknowledgement never come. The event was written, and is answered so.
func TestLostAcknowledgementIsNoticed(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	logged := &lines{}
	o.Logger, o.AckTimeout = newLogger(logged), 100*time.Millisecond
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	s.Events().DelayAcks(0, func(string) bool { return true })
	storetest.MustAdd(t, a, "lost", 1)
	if logged.count("the log's server was started again") != 1 {
		t.Errorf("logged:\n%s", logged.text.String())
	}
}
