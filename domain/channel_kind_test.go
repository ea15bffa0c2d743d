package domain

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each kind of channel keeps its own fields, and each field of a channel belongs to some kind. The kinds have different places, and
// choices for their schemes.
func TestChannelKinds(t *testing.T) {
	shape := reflect.TypeFor[Channel]()
	names, owned, places := []string{}, []string{"type"}, map[int]bool{}
	for i := range shape.NumField() {
		name, _, _ := strings.Cut(shape.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	full := Channel{
		Scheme: "http", Host: "h", Port: 1, Path: "/p", HTTPMethod: "POST", Topic: "t", Publisher: "p", QoS: 1, KeepAlive: 1,
		Retained: true, AutoReconnect: true, ConnectTimeout: 1, Recipients: []string{"a@example.com"}, SecretPath: "s",
		AuthMode: AuthNone, SkipCertVerify: true, Allow: []string{"::1"}, ClientKeys: []string{clientKey},
	}
	for _, k := range ChannelKinds() {
		for _, f := range k.Fields {
			owned = append(owned, f.Name)
		}
		full.Type = k.Type
		v := reflect.ValueOf(full.Trim())
		for i, name := range names {
			_, uses := k.Field(name)
			if want := name == "type" || uses; v.Field(i).IsZero() == want {
				t.Errorf("%s: %s is kept: %t, want %t", k.Type, name, !want, want)
			}
		}
		if layout := (Channel{}).Layout(); !strings.Contains(layout, k.Type) {
			t.Errorf("the layout %q lacks %s", layout, k.Type)
		}
		if scheme, ok := k.Field("scheme"); k.check == nil || places[k.Place] || ok != (len(scheme.Choices) > 0) {
			t.Errorf("%s has no check, the place of another kind, or no choices for its scheme", k.Type)
		}
		places[k.Place] = true
	}
	for _, name := range names {
		if !slices.Contains(owned, name) {
			t.Errorf("no kind of channel uses %s", name)
		}
	}
	for _, name := range owned {
		if !slices.Contains(names, name) {
			t.Errorf("a channel has no field %s", name)
		}
	}
}

func TestSecretUsesOfKinds(t *testing.T) {
	const refused = "channel: is missing or unknown; use MQTT or EMAIL"
	for channel, says := range map[string]string{ChannelMQTT: "", ChannelEmail: "", ChannelREST: refused, "": refused} {
		if got := joinProblems(SecretUse{Channel: channel, Host: "h", Port: 1}.Check()); got != says {
			t.Errorf("%q: got %s, want %s", channel, got, says)
		}
	}
}
