package domain

import (
	"reflect"
	"testing"
)

// FuzzDecode feeds Decode what a damaged log may hold. What it takes, it writes again in a form that stays the same.
func FuzzDecode(f *testing.F) {
	for _, k := range kinds {
		f.Add(k.name, mustReadGolden(f, k.name).Data)
		f.Add(k.name, []byte("null"))
		f.Add(k.name, []byte(`{"device":{"location":null,"protocols":{"other":null}}}`))
	}
	f.Add("device.added/2", []byte("{}"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		reading := mustEncode(t, picture())
		e, err := Decode(Wire{Type: name, Subject: reading.Subject, ContentType: reading.ContentType, Ext: reading.Ext, Data: data})
		if (e == nil) == (err == nil) {
			t.Fatalf("got %#v and %v, want one of them", e, err)
		}
		if err != nil {
			return
		}
		e.Evolve(NewMapState())
		once := mustEncode(t, e)
		if twice := mustEncode(t, mustDecode(t, once)); !reflect.DeepEqual(once, twice) {
			t.Errorf("got %+v when written again, want %+v", twice, once)
		}
	})
}
