package projections

import (
	"bytes"
	"encoding/json"
	"testing"

	"ledge/domain"
)

// The codec of rows beside encoding/json, which it was chosen over.
func BenchmarkCodec(b *testing.B) {
	d := camera(7)
	var row bytes.Buffer
	must(b, devices.encode(&row, d))
	text, err := json.Marshal(d)
	must(b, err)
	b.Run("encode", func(b *testing.B) {
		b.ReportMetric(float64(row.Len()), "bytes")
		var buf bytes.Buffer
		for b.Loop() {
			buf.Reset()
			must(b, devices.encode(&buf, d))
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
			_, err := devices.decode(row.Bytes())
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
