package domain

import (
	"bytes"
	"fmt"
	"reflect"

	"ledge/domain/fastjson"
)

// Record returns the form of e that the log stores, and the event as everybody reads it from there: that one is to be
// folded and answered with, so that the state is the fold of the log also before it is read again. The two events differ
// only in texts that are not UTF-8, which readers see with U+FFFD in them.
//
// It refuses, with Invalid, an event that could not be read back.
func Record(e Event) (Wire, Event, error) {
	k, ok := byType[reflect.TypeOf(e)]
	if !ok {
		return Wire{}, nil, fmt.Errorf("event %T has no wire name in domain/types.go", e)
	}
	if err := checkChannelTypes(e); err != nil {
		return Wire{}, nil, notRead(err)
	}
	w, err := k.wire(e)
	if err != nil || !mayDiffer(e, w) {
		return w, e, err
	}
	for range 2 { // the second time, texts are UTF-8
		back, err := k.decode(w)
		if err != nil {
			return Wire{}, nil, notRead(err)
		}
		again, err := k.wire(back)
		if err != nil {
			return Wire{}, nil, err
		}
		if bytes.Equal(again.Data, w.Data) {
			return w, back, nil
		}
		w = again
	}
	return Wire{}, nil, Errorf(Invalid, "the change cannot be recorded, because it would be read back as another one; give values that JSON can say in one way only")
}

func notRead(err error) error {
	return Errorf(Invalid, "the change cannot be recorded, because it could not be read back: %v; correct the request", err)
}

// replaced is what the encoder writes in place of bytes that are not UTF-8. A U+FFFD that a client sent stands as it is.
var replaced = []byte(`\ufffd`)

// free is an event that may hold values of any JSON type, as a client sent them. Values that are surely read back as they are do
// not count.
type free interface{ free() bool }

// mayDiffer reports whether the event that w decodes to may not be e, or may not be there. Only free JSON and texts that are
// no UTF-8 can do that: all else that events hold are texts and whole numbers.
func mayDiffer(e Event, w Wire) bool {
	f, ok := e.(free)
	return ok && f.free() || bytes.Contains(w.Data, replaced)
}

func (e DeviceAdded) free() bool   { return !fastjson.Verbatim(e.Device.Location) }
func (e DeviceUpdated) free() bool { return !fastjson.Verbatim(e.Device.Location) }
func (e DeviceRemoved) free() bool { return !fastjson.Verbatim(e.Device.Location) }

func (e ProfileAdded) free() bool   { return e.Profile.free() }
func (e ProfileUpdated) free() bool { return e.Profile.free() }
func (e ProfileRemoved) free() bool { return e.Profile.free() }

func (d Profile) free() bool {
	for i := range d.DeviceResources {
		if len(d.DeviceResources[i].Attributes) > 0 {
			return true
		}
	}
	return false
}

func (e DataEventAdded) free() bool {
	for i := range e.Readings {
		if !fastjson.Verbatim(e.Readings[i].Object) {
			return true
		}
	}
	return !fastjson.Verbatim(e.Event.Tags)
}
