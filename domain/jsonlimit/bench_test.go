package jsonlimit

import (
	"strings"
	"testing"
)

func BenchmarkCheck(b *testing.B) {
	text := []byte(`{"apiVersion":"v2","device":{"name":"cam-1","labels":["indoor"],"protocols":{"http":{"host":"10.0.0.7","port":"80"}},"lastReported":1760000000000000001` + strings.Repeat(`,"x":"some text of a device"`, 12) + `}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := Check(text); err != nil {
			b.Fatal(err)
		}
	}
}
