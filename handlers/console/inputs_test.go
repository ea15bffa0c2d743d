package console

import (
	"encoding/json"
	"testing"

	"ledge/domain"
	"ledge/handlers/console/web"
)

// TestInputsAreOfFields holds that each input is for a field that its entity has; one that is not panics.
func TestInputsAreOfFields(t *testing.T) {
	hold := func(int64) error { return nil }
	for what, n := range map[string]int{
		"device":       len(deviceInputs.Values(deviceInputs.FormOf(new(domain.Device), "a", 1), hold)),
		"service":      len(serviceInputs.Values(serviceInputs.FormOf(new(domain.DeviceService), "a", 1), hold)),
		"watcher":      len(watcherInputs.Values(watcherInputs.FormOf(new(domain.ProvisionWatcher), "a", 1), hold)),
		"subscription": len(subscriptionInputs.Values(subscriptionInputs.FormOf(new(domain.Subscription), "a", 1), hold)),
		"notification": len(notificationInputs.Values(notificationInputs.FormOf(new(domain.Notification), "a", 1), hold)),
	} {
		if n < 5 {
			t.Errorf("the request of a %s has %d fields", what, n)
		}
	}
	for _, f := range []*web.Form{userInputs.Blank(), tokenInputs.Blank()} {
		if len(f.Texts) < 3 {
			t.Errorf("a form has %d inputs", len(f.Texts))
		}
	}
}

// TestEmptyTexts holds that the request of a form with empty texts empties the fields of a device. null would leave them as they are.
func TestEmptyTexts(t *testing.T) {
	form := &web.Form{Old: "hall", Texts: map[string]string{"name": "hall"}}
	text, err := json.Marshal(deviceInputs.Values(form, func(int64) error { return nil }))
	const want = `{"autoEvents":[],"description":"","labels":[],"name":"hall",` +
		`"profileName":"","protocolName":"","protocols":{},"serviceName":""}`
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
	form = &web.Form{Texts: map[string]string{"name": "watch", "resendLimit": "many"}}
	text, err = json.Marshal(subscriptionInputs.Values(form, nil))
	if err != nil || string(text) != `{"adminState":"","categories":[],"description":"","labels":[],"name":"watch","receiver":""}` {
		t.Errorf("got %s, %v", text, err)
	}
}
