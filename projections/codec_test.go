package projections

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"ledge/domain"
)

// The codec of rows beside encoding/json, whose output it is.
func BenchmarkCodec(b *testing.B) {
	d := camera(7)
	var row bytes.Buffer
	must(b, devices.Encode(&row, &d))
	text, err := json.Marshal(d)
	must(b, err)
	b.Run("encode", func(b *testing.B) {
		b.ReportMetric(float64(row.Len()), "bytes")
		var buf bytes.Buffer
		for b.Loop() {
			buf.Reset()
			must(b, devices.Encode(&buf, &d))
		}
	})
	b.Run("encode JSON", func(b *testing.B) {
		b.ReportMetric(float64(len(text)), "bytes")
		for b.Loop() {
			_, err := json.Marshal(&d)
			must(b, err)
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			_, err := devices.Decode(nil, row.Bytes())
			must(b, err)
		}
	})
	b.Run("decode JSON", func(b *testing.B) {
		for b.Loop() {
			var d domain.Device
			must(b, json.Unmarshal(text, &d))
		}
	})
}

// What is taken for canonical as it is comes back from JSON as it is.
func TestCanonicalAny(t *testing.T) {
	var none []any
	var empty map[string]any
	for _, v := range []any{
		nil, true, 1.5, math.Copysign(0, -1), 7, int64(7), json.Number("7"), "<a> & ü", "\xff", []any{}, []any{1.0, "a", nil}, []any{1}, none,
		[]string{"a"}, map[string]any{}, map[string]any{"a": []any{map[string]any{"b": "\xfe"}}}, map[string]any{"\xff": 1.0}, empty, struct{ A int }{1},
	} {
		text, err := json.Marshal(map[string]any{"v": v})
		must(t, err)
		var want map[string]any
		must(t, json.Unmarshal(text, &want))
		if got := canonicalAny(map[string]any{"v": v}); !reflect.DeepEqual(got, want) {
			t.Errorf("%#v: got %#v, want %#v", v, got, want)
		}
		if again := canonicalAny(want); reflect.ValueOf(again).Pointer() != reflect.ValueOf(want).Pointer() {
			t.Errorf("%#v, which has come back, is copied", want)
		}
	}
}
