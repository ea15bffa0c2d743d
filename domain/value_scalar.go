package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scalarType reads values of one type, as Go's type of the same name.
type scalarType interface {
	parse(text string) (any, error)
	parseList(body []byte) (any, error)
	// transform fails with errOverflow, or with what is wrong with a property.
	transform(v any, p ResourceProperties) (any, error)
}

var scalarTypes = map[string]scalarType{
	"Bool":    scalar[bool]{read: strconv.ParseBool},
	"String":  scalar[string]{read: func(text string) (string, error) { return text, nil }, element: unquote},
	"Uint8":   unsignedType[uint8](8),
	"Uint16":  unsignedType[uint16](16),
	"Uint32":  unsignedType[uint32](32),
	"Uint64":  unsignedType[uint64](64),
	"Int8":    signedType[int8](8),
	"Int16":   signedType[int16](16),
	"Int32":   signedType[int32](32),
	"Int64":   signedType[int64](64),
	"Float32": floatType[float32](32, math.MaxFloat32),
	"Float64": floatType[float64](64, math.MaxFloat64),
}

type scalar[T any] struct {
	read    func(text string) (T, error)
	element func(json string) (T, error) // of a list; nil for read
	apply   func(v T, p ResourceProperties) (T, error)
}

func (s scalar[T]) parse(text string) (any, error) { return s.read(text) }

func (s scalar[T]) transform(v any, p ResourceProperties) (any, error) {
	if s.apply == nil {
		return v, nil
	}
	return s.apply(v.(T), p)
}

var errNoList = errors.New("it is no JSON array")

// parseList reads a JSON array, element by element.
func (s scalar[T]) parseList(body []byte) (any, error) {
	if !json.Valid(body) {
		return nil, errNoList
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if bracket, _ := d.Token(); bracket != json.Delim('[') {
		return nil, errNoList
	}
	read, list := s.element, []T{}
	if read == nil {
		read = s.read
	}
	for d.More() {
		var element json.RawMessage
		_ = d.Decode(&element) // is valid
		v, err := read(string(element))
		if err != nil {
			return nil, fmt.Errorf("element %d is %s", len(list), quote(string(element)))
		}
		list = append(list, v)
	}
	return list, nil
}

func unquote(text string) (s string, err error) {
	if text[0] != '"' {
		return "", strconv.ErrSyntax
	}
	return s, json.Unmarshal([]byte(text), &s)
}

func unsignedType[T unsigned](bits int) scalar[T] {
	a := arithmetic[T]{max: float64(^T(0)), whole: true, convert: wrap[T]}
	return scalar[T]{
		read: func(text string) (T, error) {
			n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 0, bits)
			return T(n), err
		},
		apply: func(v T, p ResourceProperties) (T, error) {
			v, err := extract(v, p, bits)
			if err != nil {
				return 0, err
			}
			return a.apply(v, p)
		},
	}
}

func signedType[T signed](bits int) scalar[T] {
	limit := math.Ldexp(1, bits-1)
	a := arithmetic[T]{min: -limit, max: float64(int64(1)<<(bits-1) - 1), whole: true, convert: wrap[T]}
	return scalar[T]{
		read:  func(text string) (T, error) { n, err := strconv.ParseInt(text, 0, bits); return T(n), err },
		apply: a.apply,
	}
}

func floatType[T float](bits int, most float64) scalar[T] {
	a := arithmetic[T]{min: -most, max: most, convert: func(f float64) (T, bool) { return T(f), true }}
	return scalar[T]{
		read:  func(text string) (T, error) { f, err := parseFloat(text, bits); return T(f), err },
		apply: a.apply,
	}
}

func parseFloat(text string, bits int) (float64, error) {
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return 0, err
	}
	// EdgeX 2.3 refuses these as out of range; it also refuses 0, a defect that EdgeX 3.1 mended.
	underflow := f == 0 && strings.ContainsAny(mantissa(text), "123456789abcdef")
	if math.IsNaN(f) || math.IsInf(f, 0) || underflow {
		return 0, strconv.ErrRange
	}
	return f, nil
}

// mantissa is the digits of a number before its exponent, which p marks where they are hexadecimal.
func mantissa(text string) string {
	text = strings.TrimLeft(strings.ToLower(text), "+-")
	mark := "e"
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		text, mark = hex, "p"
	}
	m, _, _ := strings.Cut(text, mark)
	return m
}
