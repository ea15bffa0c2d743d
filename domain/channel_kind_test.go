package domain

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each kind of channel keeps its own fields, and each field of a channel belongs to some kind.
func TestChannelKinds(t *testing.T) {
	shape := reflect.TypeFor[Channel]()
	names, owned := []string{}, []string{"type"}
	for i := range shape.NumField() {
		name, _, _ := strings.Cut(shape.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	full := Channel{
		Scheme: "http", Host: "h", Port: 1, Path: "/p", HTTPMethod: "POST", Topic: "t", Publisher: "p", QoS: 1, KeepAlive: 1, Retained: true, AutoReconnect: true,
		ConnectTimeout: 1, Recipients: []string{"a@example.com"}, SecretPath: "s", AuthMode: AuthNone, SkipCertVerify: true, Allow: []string{"::1"}, ClientKeys: []string{clientKey},
	}
	for _, k := range ChannelKinds() {
		owned = append(owned, k.Fields...)
		full.Type = k.Type
		v := reflect.ValueOf(full.Trim())
		for i, name := range names {
			if want := name == "type" || slices.Contains(k.Fields, name); v.Field(i).IsZero() == want {
				t.Errorf("%s: %s is kept: %t, want %t", k.Type, name, !want, want)
			}
		}
		if k.check == nil || slices.Contains(k.Fields, "scheme") != (len(k.Schemes) > 0) {
			t.Errorf("%s has no check, or Schemes that do not fit Fields", k.Type)
		}
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
