package domain

import "testing"

func TestEndpointsAndTargets(t *testing.T) {
	for _, tt := range []struct {
		channel                 Channel
		endpoint, target, shown string
	}{
		{Channel{Type: ChannelREST, Host: "a", Port: 80, Path: "/x?y=1"}, "REST/a/80", "REST/a/80/x?y=1", "REST/a/80/x"},
		{Channel{Type: ChannelREST, Host: "a", Port: 80, Path: "x?y=1", Scheme: "http"}, "REST/a/80", "REST/a/80/x?y=1", "REST/a/80/x"},
		{Channel{Type: ChannelREST, Host: "a", Port: 443, Scheme: "https"}, "REST/a/443/tls", "REST/a/443/tls", "REST/a/443/tls"},
		{Channel{Type: ChannelMQTT, Host: "b", Port: 1883, Scheme: "mqtt", Topic: "t/u", Publisher: "p"}, "MQTT/b/1883", "MQTT/b/1883/t/u", "MQTT/b/1883/t/u"},
		{Channel{Type: ChannelMQTT, Host: "b", Port: 8883, Scheme: "ssl", Topic: "t"}, "MQTT/b/8883/tls", "MQTT/b/8883/tls/t", "MQTT/b/8883/tls/t"},
		{Channel{Type: ChannelEmail, Recipients: []string{"a@x", "b@x"}}, "EMAIL//0", "EMAIL//0/a@x", "EMAIL//0"},
		{Channel{Type: ChannelZeroMQ, Host: "*", Port: 5563, Topic: "t"}, "ZeroMQ/*/5563", "ZeroMQ/*/5563", "ZeroMQ/*/5563"},
	} {
		e, got := tt.channel.Endpoint(), tt.channel.Target()
		if shown := ShownTarget(got); e != tt.endpoint || got != tt.target || shown != tt.shown {
			t.Errorf("%+v: got %s, %s and %s, want %s, %s and %s", tt.channel, e, got, shown, tt.endpoint, tt.target, tt.shown)
		}
	}
}
