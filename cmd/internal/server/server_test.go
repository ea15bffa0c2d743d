package server

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/services"
)

// TestServiceThatFails holds that a service that cannot go on is a reason to end.
func TestServiceThatFails(t *testing.T) {
	c := config.Default()
	if err := c.Settings().Parse([]string{
		"--data-dir", t.TempDir(), "--metadata-port", "0", "--data-port", "0", "--device-rest-port", "0", "--notifications-port", "0", "--console-port", "0", "--nats-port", "-1",
	}); err != nil {
		t.Fatal(err)
	}
	p := &Server{Config: c, Logger: slog.New(slog.DiscardHandler)}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.servers.byName[services.DeviceREST].listener.Close()
	select {
	case err := <-p.Failed():
		if !strings.Contains(err.Error(), services.DeviceREST) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}
