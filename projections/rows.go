package projections

import (
	"bytes"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"ledge/domain"
)

// There are many data events and readings, so that their rows have the fields in order, without names, UUIDs in 16 bytes,
// and the id only where the key has not got all of it.

var encMode, decMode = modes()

// modes gives CBOR in its core deterministic form (RFC 8949, 4.2.1).
func modes() (cbor.UserBufferEncMode, cbor.DecMode) {
	enc, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err) // the options are constants
	}
	dec, err := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: 1 << 30}.DecMode()
	if err != nil {
		panic(err)
	}
	return enc, dec
}

type dataEventRow struct {
	_                       struct{} `cbor:",toarray"`
	ID                      string
	Profile, Device, Source string
	Origin                  int64
	Tags                    []byte
	Readings                [][]byte // as appendName has them
	Size                    int64
}

func packDataEvent(e *domain.DataEvent) *dataEventRow {
	r := &dataEventRow{ID: cutID(e.ID), Profile: e.Profile, Device: e.Device, Source: e.Source, Origin: e.Origin, Tags: canonicalJSON(e.Tags), Size: e.Size}
	for _, id := range e.Readings {
		r.Readings = append(r.Readings, packID(id))
	}
	return r
}

func (r *dataEventRow) unpack(name string) domain.DataEvent {
	e := domain.DataEvent{ID: idOf(name, r.ID), Profile: r.Profile, Device: r.Device, Source: r.Source, Origin: r.Origin, Tags: r.Tags, Size: r.Size}
	for _, id := range r.Readings {
		e.Readings = append(e.Readings, nameIn(id))
	}
	return e
}

type readingRow struct {
	_                                                      struct{} `cbor:",toarray"`
	ID                                                     string
	Event                                                  []byte // as packID has it
	Profile, Device, Resource, ValueType, MediaType, Units string
	Size                                                   int64
	Digest                                                 string
	Origin                                                 int64
	Text                                                   string
}

func packReading(r *domain.Reading) *readingRow {
	return &readingRow{
		ID: cutID(r.ID), Event: packID(r.Event), Profile: r.Profile, Device: r.Device, Resource: r.Resource, ValueType: r.ValueType,
		MediaType: r.MediaType, Units: r.Units, Size: r.Size, Digest: r.Digest, Origin: r.Origin, Text: r.Text,
	}
}

func (r *readingRow) unpack(name string) domain.Reading {
	return domain.Reading{
		ID: idOf(name, r.ID), Event: nameIn(r.Event), Profile: r.Profile, Device: r.Device, Resource: r.Resource, ValueType: r.ValueType,
		MediaType: r.MediaType, Units: r.Units, Size: r.Size, Digest: r.Digest, Origin: r.Origin, Text: r.Text,
	}
}

// packID is appendName without the cut.
func packID(id string) []byte {
	if isWhole(id) {
		return appendName(nil, id)
	}
	return append([]byte{plainName}, id...)
}

// cutID returns an id that is not whole in the key.
func cutID(id string) string {
	if isWhole(id) {
		return ""
	}
	return id
}

// idOf returns what cutID has left out.
func idOf(name, cut string) string {
	if cut != "" {
		return cut
	}
	return name
}

// inRows is the codec of entities that are written as rows of type R.
func inRows[S, R any](pack func(*S) *R, unpack func(r *R, name string) S, canonical func(S) S) codec[S] {
	return codec[S]{
		encode: func(dst *bytes.Buffer, s *S) error { return encMode.MarshalToBuffer(pack(s), dst) },
		decode: func(name, b []byte) (s S, err error) {
			var r R
			if err := decMode.Unmarshal(b, &r); err != nil {
				return s, err
			}
			return unpack(&r, nameIn(name)), nil
		},
		canonical: canonical,
		row:       reflect.TypeFor[R](),
	}
}
