package edgex

import (
	"encoding/json"
	"testing"

	"ledge/domain"
)

// TestPropertiesV3 has the texts of API v2 as numbers, and leaves out a text that is not a number of JSON or of its type.
func TestPropertiesV3(t *testing.T) {
	for _, c := range []struct {
		properties domain.ResourceProperties
		want       string
	}{
		{
			domain.ResourceProperties{
				Minimum: "-0.5", Maximum: "1e3", Mask: "18446744073709551615", Shift: "-3", Scale: "2", Offset: "0", Base: "10",
			},
			`{"valueType":"","readWrite":"","minimum":-0.5,"maximum":1000,"mask":18446744073709551615,"shift":-3,"scale":2,` +
				`"offset":0,"base":10}`,
		},
		{
			domain.ResourceProperties{
				Minimum: "NaN", Maximum: "Inf", Mask: "0xff", Shift: "1.5", Scale: "", Offset: "x", Base: "1e999", MediaType: "a/b",
			},
			`{"valueType":"","readWrite":"","mediaType":"a/b"}`,
		},
	} {
		got, err := json.Marshal(propertiesV3(c.properties))
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

// TestIsPublished holds which changes have system events: those of devices in API v2; in API v3 all except the reported times alone.
func TestIsPublished(t *testing.T) {
	reported, labels := []string{"lastConnected", "lastReported"}, []string{"labels"}
	for _, c := range []struct {
		event  domain.Event
		v2, v3 bool
	}{
		{domain.DeviceAdded{}, true, true},
		{domain.DeviceUpdated{Changed: reported}, true, false},
		{domain.DeviceUpdated{Changed: labels}, true, true},
		{domain.ServiceUpdated{Changed: reported}, false, false},
		{domain.ServiceUpdated{Changed: labels}, false, true},
		{domain.WatcherRemoved{}, false, true},
		{domain.ProfileAdded{}, false, true},
		{domain.UserAdded{}, false, false},
	} {
		for v3, want := range map[bool]bool{false: c.v2, true: c.v3} {
			if got := NewEvents(EventsOptions{V3: v3}).isPublished(c.event); got != want {
				t.Errorf("%T, API v3 %t: %t", c.event, v3, got)
			}
		}
	}
}
