package config

import (
	"strings"
	"testing"
)

// TestEdgeXBus holds how the message buses are written, with and without ports.
func TestEdgeXBus(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "redis": "redis",
		"mqtt, redis:6379": "redis,mqtt", "mqtt:01884,redis:0": "redis:0,mqtt:1884", "[redis:6380, mqtt]": "redis:6380,mqtt",
	} {
		c, _, err := loadArgs(t, "--config", writeSettings(t, "edgex-bus: "+text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := c.Settings().Lookup("edgex-bus").Value.String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for args, says := range map[string]string{
		"--edgex-bus nats":                      `--edgex-bus: "nats": "nats" is unknown; use redis, mqtt or both`,
		"--edgex-bus redis:":                    `--edgex-bus: "redis:": use a TCP port from 0 to 65535 after redis:`,
		"--edgex-bus mqtt:65536":                "use a TCP port from 0 to 65535 after mqtt:",
		"--edgex-bus redis,redis:1":             "redis is there twice; leave one out",
		"--edgex-bus redis:6380 --nats-port=-1": "setting edgex-bus: redis:6380: its messages go to the NATS server: set nats-port too",
	} {
		if _, _, err := loadArgs(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", args, err, says)
		}
	}
	c, source, err := loadArgs(t, "--config", writeSettings(t, "edgex-bus: redis"))
	if err != nil {
		t.Fatal(err)
	}
	if TakeFreePorts(c, source); len(c.EdgeXBus) > 0 {
		t.Errorf("with free ports the message buses are %v", c.EdgeXBus)
	}
}
