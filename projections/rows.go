package projections

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"ledge/domain"
	"ledge/domain/fastjson"
	"ledge/projections/fold"
)

// inJSON is the codec of entities. What comes live from a command and what comes back from the log must give the same
// bytes, so canonical, where there is one, brings a value to what its way through JSON makes of it.
func inJSON[S any](canonical func(S) S) fold.Codec[S] {
	rows := fastjson.Of[S]()
	return fold.Codec[S]{
		Encode: func(dst *bytes.Buffer, s *S) error {
			b, err := rows.Append(dst.AvailableBuffer(), s)
			dst.Write(b)
			return err
		},
		Decode: func(_, b []byte) (s S, err error) {
			err = rows.Unmarshal(b, &s)
			return s, err
		},
		Canonical: canonical,
	}
}

// canonicalJSON returns v as it comes back from the log.
func canonicalJSON(v json.RawMessage) json.RawMessage {
	if !slices.ContainsFunc(v, rewritten) {
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v // not JSON: the log could not have held it
	}
	return b
}

// rewritten reports whether encoding/json may write what has c in another way: it leaves out white space between values,
// escapes what HTML or JavaScript would trip over, and mends what is no UTF-8.
func rewritten(c byte) bool {
	return c <= ' ' || c == '<' || c == '>' || c == '&' || c >= utf8.RuneSelf
}

// canonicalAny returns v as it comes back from the log.
func canonicalAny(v map[string]any) map[string]any {
	if v == nil || asDecoded(v) {
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var again map[string]any
	if err := json.Unmarshal(b, &again); err != nil {
		return v
	}
	return again
}

// asDecoded reports whether v is of nothing but what encoding/json decodes an any as, so that it comes back as it is.
func asDecoded(v any) bool {
	switch v := v.(type) {
	case nil, bool, float64:
		return true
	case string:
		return utf8.ValidString(v)
	case []any:
		return v != nil && !slices.ContainsFunc(v, func(one any) bool { return !asDecoded(one) })
	case map[string]any:
		for key, one := range v {
			if !utf8.ValidString(key) || !asDecoded(one) {
				return false
			}
		}
		return v != nil
	}
	return false
}

var inText = fold.Codec[string]{
	Encode: func(dst *bytes.Buffer, s *string) error { dst.WriteString(*s); return nil },
	Decode: func(_, b []byte) (string, error) { return string(b), nil },
}

var inNumber = fold.Codec[uint64]{
	Encode: func(dst *bytes.Buffer, n *uint64) error {
		dst.Write(binary.BigEndian.AppendUint64(dst.AvailableBuffer(), *n))
		return nil
	},
	Decode: func(_, b []byte) (uint64, error) {
		if len(b) != 8 {
			return 0, fmt.Errorf("a number of %d bytes, not 8", len(b))
		}
		return binary.BigEndian.Uint64(b), nil
	},
}

var inCount = fold.Codec[int]{
	Encode: func(dst *bytes.Buffer, n *int) error { return inNumber.Encode(dst, new(uint64(*n))) },
	Decode: func(name, b []byte) (int, error) { n, err := inNumber.Decode(name, b); return int(n), err },
}

var inFlag = fold.Codec[bool]{
	Encode: func(dst *bytes.Buffer, on *bool) error {
		if *on {
			return dst.WriteByte(1)
		}
		return dst.WriteByte(0)
	},
	Decode: func(_, b []byte) (bool, error) { return len(b) == 1 && b[0] == 1, nil },
}

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
	Readings                [][]byte // as [fold.PackName] has them
	Size                    int64
}

func packDataEvent(e *domain.DataEvent) *dataEventRow {
	r := &dataEventRow{ID: cutID(e.ID), Profile: e.Profile, Device: e.Device, Source: e.Source, Origin: e.Origin, Tags: canonicalJSON(e.Tags), Size: e.Size}
	for _, id := range e.Readings {
		r.Readings = append(r.Readings, fold.PackName(id))
	}
	return r
}

func (r *dataEventRow) unpack(name string) domain.DataEvent {
	e := domain.DataEvent{ID: idOf(name, r.ID), Profile: r.Profile, Device: r.Device, Source: r.Source, Origin: r.Origin, Tags: r.Tags, Size: r.Size}
	for _, id := range r.Readings {
		e.Readings = append(e.Readings, fold.NameIn(id))
	}
	return e
}

type readingRow struct {
	_                                                      struct{} `cbor:",toarray"`
	ID                                                     string
	Event                                                  []byte // as [fold.PackName] has it
	Profile, Device, Resource, ValueType, MediaType, Units string
	Size                                                   int64
	Digest                                                 string
	Origin                                                 int64
	Text                                                   string
}

func packReading(r *domain.Reading) *readingRow {
	return &readingRow{
		ID: cutID(r.ID), Event: fold.PackName(r.Event), Profile: r.Profile, Device: r.Device, Resource: r.Resource, ValueType: r.ValueType,
		MediaType: r.MediaType, Units: r.Units, Size: r.Size, Digest: r.Digest, Origin: r.Origin, Text: r.Text,
	}
}

func (r *readingRow) unpack(name string) domain.Reading {
	return domain.Reading{
		ID: idOf(name, r.ID), Event: fold.NameIn(r.Event), Profile: r.Profile, Device: r.Device, Resource: r.Resource, ValueType: r.ValueType,
		MediaType: r.MediaType, Units: r.Units, Size: r.Size, Digest: r.Digest, Origin: r.Origin, Text: r.Text,
	}
}

// cutID returns an id that is not whole in the key.
func cutID(id string) string {
	if fold.IsWhole(id) {
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
func inRows[S, R any](pack func(*S) *R, unpack func(r *R, name string) S, canonical func(S) S) fold.Codec[S] {
	return fold.Codec[S]{
		Encode: func(dst *bytes.Buffer, s *S) error { return encMode.MarshalToBuffer(pack(s), dst) },
		Decode: func(name, b []byte) (s S, err error) {
			var r R
			if err := decMode.Unmarshal(b, &r); err != nil {
				return s, err
			}
			return unpack(&r, fold.NameIn(name)), nil
		},
		Canonical: canonical,
		Row:       reflect.TypeFor[R](),
	}
}
