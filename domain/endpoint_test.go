package domain

import "testing"

func TestEndpointsAndTargets(t *testing.T) {
	for _, tt := range []struct {
		channel          Channel
		endpoint, target string
	}{
		{Channel{Type: ChannelREST, Host: "a", Port: 80, Path: "/x?y=1"}, "REST/a/80", "REST/a/80/x?y=1"},
		{Channel{Type: ChannelREST, Host: "a", Port: 80, Path: "x?y=1", Scheme: "http"}, "REST/a/80", "REST/a/80/x?y=1"},
		{Channel{Type: ChannelREST, Host: "a", Port: 443, Scheme: "https"}, "REST/a/443/tls", "REST/a/443/tls"},
		{Channel{Type: ChannelMQTT, Host: "b", Port: 1883, Scheme: "mqtt", Topic: "t/u", Publisher: "p"}, "MQTT/b/1883", "MQTT/b/1883/t/u"},
		{Channel{Type: ChannelMQTT, Host: "b", Port: 8883, Scheme: "ssl", Topic: "t"}, "MQTT/b/8883/tls", "MQTT/b/8883/tls/t"},
		{Channel{Type: ChannelEmail, Recipients: []string{"a@x", "b@x"}}, "EMAIL//0", "EMAIL//0/a@x"},
		{Channel{Type: ChannelZeroMQ, Host: "*", Port: 5563, Topic: "t"}, "ZeroMQ/*/5563", "ZeroMQ/*/5563"},
	} {
		if e, got := tt.channel.Endpoint(), tt.channel.Target(); e != tt.endpoint || got != tt.target {
			t.Errorf("%+v: got %s and %s, want %s and %s", tt.channel, e, got, tt.endpoint, tt.target)
		}
	}
}
