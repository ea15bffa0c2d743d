package projections

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"ledge/domain/fastjson"
)

// codec turns the values of one table into bytes and back. encode appends to dst, and changes nothing of what it gets; decode,
// which gets the name in the row's key too, keeps nothing of it and b.
type codec[S any] struct {
	encode func(dst *bytes.Buffer, s *S) error
	decode func(name, b []byte) (S, error)
	// canonical, where there is one, makes of a value what comes back from encode and decode.
	canonical func(S) S
	row       reflect.Type // what is encoded, where that is not S
}

// inJSON is the codec of entities. What comes live from a command and what comes back from the log must give the same
// bytes, so canonical, where there is one, brings a value to what its way through JSON makes of it.
func inJSON[S any](canonical func(S) S) codec[S] {
	rows := fastjson.Of[S]()
	return codec[S]{
		encode: func(dst *bytes.Buffer, s *S) error {
			b, err := rows.Append(dst.AvailableBuffer(), s)
			dst.Write(b)
			return err
		},
		decode: func(_, b []byte) (s S, err error) {
			err = rows.Unmarshal(b, &s)
			return s, err
		},
		canonical: canonical,
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

var inText = codec[string]{
	encode: func(dst *bytes.Buffer, s *string) error { dst.WriteString(*s); return nil },
	decode: func(_, b []byte) (string, error) { return string(b), nil },
}

var inNumber = codec[uint64]{
	encode: func(dst *bytes.Buffer, n *uint64) error {
		dst.Write(binary.BigEndian.AppendUint64(dst.AvailableBuffer(), *n))
		return nil
	},
	decode: func(_, b []byte) (uint64, error) {
		if len(b) != 8 {
			return 0, fmt.Errorf("a number of %d bytes, not 8", len(b))
		}
		return binary.BigEndian.Uint64(b), nil
	},
}

var inCount = codec[int]{
	encode: func(dst *bytes.Buffer, n *int) error { return inNumber.encode(dst, new(uint64(*n))) },
	decode: func(name, b []byte) (int, error) { n, err := inNumber.decode(name, b); return int(n), err },
}

var inFlag = codec[bool]{
	encode: func(dst *bytes.Buffer, on *bool) error {
		if *on {
			return dst.WriteByte(1)
		}
		return dst.WriteByte(0)
	},
	decode: func(_, b []byte) (bool, error) { return len(b) == 1 && b[0] == 1, nil },
}
