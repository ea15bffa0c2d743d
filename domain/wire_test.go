package domain

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func mustEncode(tb testing.TB, e Event) Wire {
	tb.Helper()
	w, err := Encode(e)
	if err != nil {
		tb.Fatalf("encode %#v: %v", e, err)
	}
	return w
}

func mustDecode(tb testing.TB, w Wire) Event {
	tb.Helper()
	e, err := Decode(w)
	if err != nil {
		tb.Fatalf("decode %+v: %v", w, err)
	}
	return e
}

func TestEventsRoundTrip(t *testing.T) {
	events := []Event{ProfileUpdated{imageProfile(), []string{"labels"}}, ProfileRemoved{Profile: imageProfile()}, DeviceUpdated{camera(), []string{"labels"}}, DeviceRemoved{Device: camera()},
		ServiceUpdated{restService(), []string{"labels"}}, ServiceRemoved{Service: restService()},
		WatcherUpdated{finder(), []string{"labels"}}, WatcherRemoved{Watcher: finder()},
		SubscriptionUpdated{gate(), gate(), []string{"receiver"}}, SubscriptionRemoved{Subscription: gate()}, SamplesSeeded{},
		NotificationProcessed{notice(), []Transmission{transmission()}}}
	for _, e := range goldens {
		events = append(events, e)
	}
	for _, e := range append(events, everything()...) {
		if got := mustDecode(t, mustEncode(t, e)); !reflect.DeepEqual(got, e) {
			t.Errorf("got  %#v\nwant %#v", got, e)
		}
	}
}

func TestReadingKeepsItsValue(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, value := range [][]byte{every, []byte("42"), []byte(" \r\n"), []byte(`{"a":  "<é>"}`), []byte("null"), {}} {
		want := with(picture(), func(r *ReadingPosted) { r.Value = value })
		w := mustEncode(t, want)
		if !bytes.Equal(w.Data, value) || w.ContentType != want.MediaType {
			t.Errorf("got %q as %s, want %q as %s", w.Data, w.ContentType, value, want.MediaType)
		}
		if got := mustDecode(t, w); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %#v\nwant %#v", got, want)
		}
	}
}

func TestReadingBesideTheLog(t *testing.T) {
	want := with(picture(), func(r *ReadingPosted) { r.Value, r.Size, r.Digest = nil, 5<<20, strings.Repeat("0a", 32) })
	w := mustEncode(t, want)
	if len(w.Data) != 0 || w.Ext["digest"] != want.Digest || w.Ext["size"] != "5242880" {
		t.Errorf("got %+v, want no data, the digest and the size", w)
	}
	if got := mustDecode(t, w); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

type unnamed struct{ DeviceAdded }

func TestEncodeRefusesEventsWithoutWireName(t *testing.T) {
	for want, e := range map[string]Event{"domain.unnamed": unnamed{}, "*domain.DeviceAdded": &DeviceAdded{}, "<nil>": nil} {
		if w, err := Encode(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v, want an error that names %s", w, err, want)
		}
	}
}

func TestDecodeNamesUnknownTypes(t *testing.T) {
	for _, name := range []string{"device.added/2", "device.added", "Device.Added/1", ""} {
		got, err := Decode(Wire{Type: name, Data: []byte("{}")})
		if err == nil || got != nil || !strings.Contains(err.Error(), `event type "`+name+`" is unknown`) {
			t.Errorf("got %#v, %v, want an error that names %q", got, err, name)
		}
	}
}

func TestDecodeRefusesMalformedData(t *testing.T) {
	for _, k := range kinds {
		if k.name == "reading.posted/1" {
			continue // whose data is any bytes
		}
		for _, data := range []string{"", "{", "[]", "1", `"text"`, "{} {}", "\x00"} {
			got, err := Decode(Wire{Type: k.name, Data: []byte(data)})
			if err == nil || got != nil || !strings.Contains(err.Error(), "decode "+k.name) {
				t.Errorf("%s, data %q: got %#v, %v, want an error", k.name, data, got, err)
			}
		}
	}
	got, err := Decode(Wire{Type: "device.added/1", Data: []byte(`{"device":{"created":"yesterday"}}`)})
	if err == nil || !strings.Contains(err.Error(), "created") {
		t.Errorf("got %#v, %v, want an error that names the field", got, err)
	}
}

func TestDecodeRefusesMalformedReadings(t *testing.T) {
	tests := map[string]func(*Wire){
		"subject":     func(w *Wire) { w.Subject = w.Subject[:2] },
		"subject []":  func(w *Wire) { w.Subject = nil },
		"tokens":      func(w *Wire) { w.Subject = append(w.Subject, "more") },
		"origin \"\"": func(w *Wire) { w.Ext = nil },
		"origin":      func(w *Wire) { w.Ext["origin"] = "now" },
		"size \"\"":   func(w *Wire) { delete(w.Ext, "size") },
		"size":        func(w *Wire) { w.Ext["size"] = "9223372036854775808" },
	}
	for says, edit := range tests {
		got, err := Decode(with(mustEncode(t, picture()), edit))
		if err == nil || got != nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "reading.posted/1") {
			t.Errorf("got %#v, %v, want an error that says %s", got, err, says)
		}
	}
}
