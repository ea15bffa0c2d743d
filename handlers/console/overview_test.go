package console

import "testing"

func TestEndpointName(t *testing.T) {
	for endpoint, want := range map[string]string{
		"REST/127.0.0.1/8080":              "REST 127.0.0.1:8080",
		"REST/127.0.0.1/8080/in/a":         "REST 127.0.0.1:8080/in/a",
		"REST/::1/8080/in":                 "REST [::1]:8080/in",
		"MQTT/broker/8883/tls/site/alarms": "MQTT broker:8883/tls/site/alarms",
		"EMAIL//0":                         "EMAIL",
		"EMAIL/mail/0":                     "EMAIL mail",
	} {
		if got := endpointName(endpoint); got != want {
			t.Errorf("%s: got %q, want %q", endpoint, got, want)
		}
	}
}
