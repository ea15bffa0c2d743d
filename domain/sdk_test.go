package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// posted is a case of TestValuesAreThoseOfTheSDK, as testdata/sdkvalues reads it.
type posted struct {
	Properties ResourceProperties
	Mappings   map[string]string
	Text       string
}

// sdkReading is what the SDK makes of it; State is what becomes of the device.
type sdkReading struct{ Type, Text, Error, State string }

// readValues asks EdgeX's device SDK, which is a module of its own: Ledge does not depend on it.
func readValues(t *testing.T, cases []posted) (readings []sdkReading) {
	t.Helper()
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (out, problems bytes.Buffer, err error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = "testdata/sdkvalues", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &problems
		return out, problems, cmd.Run()
	}
	if _, problems, err := run("mod", "download"); err != nil {
		t.Skipf("the values are compared with those of EdgeX's device SDK, and its Go modules cannot be downloaded: %s", &problems)
	}
	out, problems, err := run("run", "-tags", "no_zmq", ".") // its ZeroMQ client needs C
	if err != nil {
		t.Fatalf("%v\n%s", err, &problems)
	}
	if err := json.Unmarshal(out.Bytes(), &readings); err != nil || len(readings) != len(cases) {
		t.Fatalf("%d readings of %d, %v", len(readings), len(cases), err)
	}
	return readings
}

func (p posted) read() (v Value, err error) {
	r := DeviceResource{Name: "it", Properties: p.Properties}
	profile := Profile{DeviceResources: []DeviceResource{r}, DeviceCommands: []DeviceCommand{
		{ResourceOperations: []ResourceOperation{{DeviceResource: "it", Mappings: p.Mappings}}},
	}}
	v, err = ReadValue(profile, r, "application/json", []byte(p.Text))
	if err == nil && v.Text == "" {
		v.Text = p.Text
	}
	return v, err
}

// outcome is a reading in one line.
func (p posted) outcome() string {
	v, err := p.read()
	if failed, ok := errors.AsType[*AssertionError](err); ok {
		return "it DOWN: Assertion failed for DeviceResource it, with value " + failed.Value
	}
	if err != nil {
		return "refused"
	}
	if v.Type == "Object" {
		v.Text = mustJSON(mustObject(v.Text))
	}
	return v.Type + " " + v.Text
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func mustObject(text string) (o map[string]any) {
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	return o
}

func (r sdkReading) outcome() string {
	switch {
	case r.State != "":
		return r.State + ": " + r.Error
	case r.Error != "":
		return "refused"
	default:
		return r.Type + " " + r.Text
	}
}

func TestValuesAreThoseOfTheSDK(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3))
	var cases []posted
	for _, valueType := range ValueTypes {
		for range 1500 {
			if valueType != Binary {
				cases = append(cases, randomPost(random, valueType))
			}
		}
	}
	counts := map[string]int{}
	for i, want := range readValues(t, cases) {
		if got := cases[i].outcome(); got != want.outcome() && sixDigits(got) != want.outcome() {
			t.Errorf("%+v: got %q, want %q (%s)", cases[i], got, want.outcome(), want.Error)
		}
		kind, _, _ := strings.Cut(want.outcome(), " ")
		if strings.HasSuffix(want.outcome(), overflow) {
			kind = overflow
		}
		counts[kind]++
	}
	t.Log(counts)
	if counts["it"] < 100 || counts["refused"] < 100 || counts[overflow] < 100 || counts["String"] < 100 {
		t.Errorf("got %v, want some of each", counts)
	}
}

// sixDigits writes the floats of an outcome as EdgeX 2.3 does.
func sixDigits(outcome string) string {
	valueType, text, _ := strings.Cut(outcome, " ")
	if !strings.HasPrefix(valueType, "Float") {
		return outcome
	}
	return valueType + " " + regexp.MustCompile(`[^\[\], ]+`).ReplaceAllStringFunc(text, func(one string) string {
		f, err := strconv.ParseFloat(one, bitsOf(strings.TrimSuffix(valueType, "Array")))
		if err != nil {
			return one
		}
		return fmt.Sprintf("%e", f)
	})
}

// properties are values of transforms that do something, that do nothing, that overflow and that are none.
var properties = map[string][]string{
	"mask":   {"0", "1", "15", "170", "240", "255", "256", "65280", "65535", "4294967295", "18446744073709551615", "18446744073709551616", "-1", "0x0F", "x", "1.5"},
	"shift":  {"0", "1", "-1", "+2", "4", "-4", "7", "-8", "8", "31", "-63", "64", "127", "-128", "128", "40000", "x", "1.5"},
	"base":   {"0", "0.0", "1", "2", "10", "-2", "0.5", "-0.5", "1e3", "1e300", "NaN", "Inf", "1e999", "x", "2,5"},
	"scale":  {"1.0", "1", "2", "-1", "0", "0.0", "0.5", "0.1", "2.5", "-2.5", "100", "1e10", "1e-10", "3.4e38", "1e40", "-1e300", "0x1p4", "NaN", "Inf", "1e999", "x"},
	"offset": {"0.0", "0", "1", "-1", "0.5", "-0.5", "100", "-100", "255", "-32768", "1e10", "9007199254740993", "1e-10", "3.4e38", "-1e308", "NaN", "-Inf", "1e999", "x"},
}

func randomPost(r *rand.Rand, valueType string) posted {
	set := func(name string, oneIn int) string {
		if r.IntN(oneIn) > 0 {
			return ""
		}
		return properties[name][r.IntN(len(properties[name]))]
	}
	p := posted{Text: randomText(r, valueType), Properties: ResourceProperties{
		ValueType: valueType, ReadWrite: "R", Mask: set("mask", 4), Shift: set("shift", 4), Base: set("base", 4),
		Scale: set("scale", 3), Offset: set("offset", 3), Minimum: "1", Maximum: "2",
	}}
	printed := p.Text
	if v, err := p.read(); err == nil && r.IntN(2) == 0 { // what it is without assertion and mappings
		if printed = strings.ReplaceAll(v.Text, ", ", " "); valueType == "Object" {
			printed = fmt.Sprint(mustObject(p.Text))
		}
	}
	if r.IntN(6) == 0 {
		p.Properties.Assertion = printed
	}
	if r.IntN(5) == 0 {
		p.Mappings = map[string]string{printed: "mapped", overflow: "over", "true": "on", "map[]": "nothing", "[]": "none"}
	}
	return p
}

// randomText is a value of a type: small, at an edge, or any.
func randomText(r *rand.Rand, valueType string) string {
	if valueType == "Object" {
		return []string{`{}`, `{"b":[1,2.50,null],"a":"x y"}`, `{"n":12345678901234567890,"o":{"a":true}}`}[r.IntN(3)]
	}
	element, ok := strings.CutSuffix(valueType, "Array")
	if !ok {
		return randomScalar(r, valueType)
	}
	list := make([]string, r.IntN(5))
	for i := range list {
		switch list[i] = randomScalar(r, element); {
		case element == "String":
			list[i] = mustJSON(list[i])
		case element == "Bool":
			list[i] = fmt.Sprint(r.IntN(2) == 0)
		case !json.Valid([]byte(list[i])): // hexadecimal
			list[i] = "1"
		}
	}
	return "[" + strings.Join(list, []string{",", ", ", " ,\n"}[r.IntN(3)]) + "]"
}

func randomScalar(r *rand.Rand, valueType string) string {
	size := uint(bitsOf(valueType))
	switch {
	case valueType == "Bool":
		return []string{"true", "false", "TRUE", "False", "t", "F", "1", "0"}[r.IntN(8)]
	case valueType == "String":
		return []string{"good", "5", "1e1", " two words ", "ü\n", `"quoted"`, "overflow", "NaN"}[r.IntN(8)]
	case valueType == "Float32":
		return randomFloat(r, 32)
	case valueType == "Float64":
		return randomFloat(r, 64)
	case valueType[0] == 'U':
		n := r.Uint64() >> (64 - size) >> r.UintN(size)
		if r.IntN(8) == 0 {
			n = ^uint64(0) >> (64 - size)
		}
		return fmt.Sprintf([]string{"%d", "%d", "%#x", "%#o", "%#b"}[r.IntN(5)], n)
	default:
		n := int64(r.Uint64()) >> (64 - size) >> r.UintN(size)
		if r.IntN(8) == 0 {
			n = []int64{math.MinInt64, math.MaxInt64, -1, 0}[r.IntN(4)] >> (64 - size)
		}
		return fmt.Sprintf([]string{"%d", "%d", "%#x"}[r.IntN(3)], n)
	}
}

func bitsOf(valueType string) int {
	n, _ := strconv.Atoi(strings.TrimLeftFunc(valueType, unicode.IsLetter))
	return n
}

func randomFloat(r *rand.Rand, bits int) string {
	if r.IntN(4) == 0 {
		return []string{"0", "-0", "0.0", "3.4028235e38", "-3.4028235e38", "1e-45", "1.5", "10", "0.1", "-1"}[r.IntN(10)]
	}
	f := math.Ldexp(r.NormFloat64(), r.IntN(bits)-bits/2)
	if bits == 32 {
		f = float64(float32(f))
	}
	return fmt.Sprintf([]string{"%g", "%e", "%f", "%.3g"}[r.IntN(4)], f)
}
