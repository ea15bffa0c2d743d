package domain

import (
	"strings"
	"testing"
)

func TestChannels(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Channel)
		says string
	}{
		{"all interfaces", func(*Channel) {}, ""},
		{"with a publisher", func(c *Channel) { c.Publisher = "ledge" }, ""},
		{"an address", func(c *Channel) { c.Host = "127.0.0.1" }, ""},
		{"lowest port", func(c *Channel) { c.Port = 1 }, ""},
		{"highest port", func(c *Channel) { c.Port = 65535 }, ""},
		{"a topic of any characters", func(c *Channel) { c.Topic = "device changed/é." }, ""},
		{"longest topic", func(c *Channel) { c.Topic = strings.Repeat("t", MaxName) }, ""},
		{"no type", func(c *Channel) { c.Type = "" }, "channels[0].type: is missing or empty; use one of ZeroMQ"},
		{"type in lower case", func(c *Channel) { c.Type = "zeromq" }, `channels[0].type: "zeromq" is unknown; use one of ZeroMQ`},
		{"no host", func(c *Channel) { c.Host = "" }, `channels[0].host: is missing or empty; give "*" for all interfaces`},
		{"no port", func(c *Channel) { c.Port = 0 }, "channels[0].port: 0 is no TCP port; use 1 to 65535"},
		{"negative port", func(c *Channel) { c.Port = -1 }, "channels[0].port: -1 is no TCP port; use 1 to 65535"},
		{"port too high", func(c *Channel) { c.Port = 65536 }, "channels[0].port: 65536 is no TCP port; use 1 to 65535"},
		{"no topic", func(c *Channel) { c.Topic = "" }, "channels[0].topic: is missing or empty; give the key that subscribers filter on"},
		{"topic too long", func(c *Channel) { c.Topic = strings.Repeat("t", MaxName+1) }, "… is 257 bytes long; use at most 256"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := addGate(func(d *Subscription) { tt.edit(&d.Channels[0]) })
			got, err := cmd.Decide(given())
			if tt.says != "" {
				wantRefusal(t, got, err, Invalid, tt.says)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
