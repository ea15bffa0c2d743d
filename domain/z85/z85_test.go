package z85

import (
	"bytes"
	"testing"
)

func TestEncode(t *testing.T) {
	for text, b := range map[string][]byte{
		"":           {},
		"HelloWorld": {0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b}, // of the specification
		"00000":      {0, 0, 0, 0},
		"%nSc0":      {0xff, 0xff, 0xff, 0xff},
	} {
		if got := Encode(b); got != text {
			t.Errorf("%x: got %s, want %s", b, got, text)
		}
		if got, err := Decode(text); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: got %x, %v; want %x", text, got, err, b)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"0", "0000", "000000", "0000 ", "0000\"", "0000é", "%nSc1", "#####"} {
		if got, err := Decode(text); err == nil {
			t.Errorf("%s: got %x", text, got)
		}
	}
}
