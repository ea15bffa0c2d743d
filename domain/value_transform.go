package domain

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}
type signed interface{ int8 | int16 | int32 | int64 }
type integer interface{ signed | unsigned }
type float interface{ float32 | float64 }
type numeric interface{ integer | float }

// errOverflow says that a transform takes a value out of the range of its type, or makes a fraction of an integer.
var errOverflow = errors.New("overflow")

// extract applies mask and shift: a positive shift is to the left. Both are decimal and fit the value's type, the
// shift with a sign.
func extract[T unsigned](v T, p ResourceProperties, bits int) (T, error) {
	if isSet(p.Mask, "0") {
		mask, err := strconv.ParseUint(p.Mask, 10, bits)
		if err != nil {
			return 0, badProperty("mask", p.Mask, err)
		}
		v &= T(mask)
	}
	if !isSet(p.Shift, "0") {
		return v, nil
	}
	shift, err := strconv.ParseInt(p.Shift, 10, bits)
	switch {
	case err != nil:
		return 0, badProperty("shift", p.Shift, err)
	case shift > 0:
		return v << uint64(shift), nil
	default:
		return v >> uint64(-shift), nil
	}
}

// isSet reports whether a property says something else than the text that EdgeX takes for none.
func isSet(property, none string) bool { return property != "" && property != none }

func badProperty(name, value string, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s, %s, is out of range", name, quote(value))
	}
	return fmt.Errorf("%s, %s, is not a number", name, quote(value))
}

// arithmetic applies base, scale and offset to values of one type.
type arithmetic[T numeric] struct {
	min, max float64 // of the type, as near as a float64 comes
	whole    bool
	convert  func(float64) (T, bool)
}

// apply does as EdgeX's SDK does: whether a result is in range is asked of float64, but scale and offset are then
// converted to the value's type before they are applied. So an integer of 4 with the scale 2.5 is 8, not 10.
func (a arithmetic[T]) apply(v T, p ResourceProperties) (T, error) {
	was := v
	for _, step := range []struct {
		name, value, none string
		exact             func(v, by float64) float64
		typed             func(v T, by, exact float64) (T, bool)
	}{
		{"base", p.Base, "0", func(v, by float64) float64 { return math.Pow(by, v) }, a.power},
		{"scale", p.Scale, "1.0", func(v, by float64) float64 { return v * by }, a.times},
		{"offset", p.Offset, "0.0", func(v, by float64) float64 { return v + by }, a.plus},
	} {
		if !isSet(step.value, step.none) {
			continue
		}
		by, err := strconv.ParseFloat(step.value, 64)
		if err != nil {
			return 0, badProperty(step.name, step.value, err)
		}
		exact := step.exact(float64(v), by)
		typed, ok := step.typed(v, by, exact)
		if !ok || !a.holds(exact) {
			return 0, errOverflow
		}
		v = typed
	}
	if v == was { // which -0 is to 0
		return was, nil
	}
	return v, nil
}

func (a arithmetic[T]) holds(f float64) bool {
	return f >= a.min && f <= a.max && (!a.whole || f == math.Trunc(f))
}

func (a arithmetic[T]) power(_ T, _, exact float64) (T, bool) { return a.convert(exact) }

func (a arithmetic[T]) times(v T, by, _ float64) (T, bool) {
	n, ok := a.convert(by)
	return v * n, ok || v == 0
}

func (a arithmetic[T]) plus(v T, by, _ float64) (T, bool) {
	n, ok := a.convert(by)
	return v + n, ok
}

// wrap is f without its fraction, modulo the size of T; false where f is beyond 64 bits. Go leaves to the processor what
// it makes of a float64 that is beyond T.
func wrap[T integer](f float64) (T, bool) {
	n := uint64(math.Abs(f))
	if f < 0 {
		n = -n
	}
	return T(n), math.Abs(f) < 1<<64
}
