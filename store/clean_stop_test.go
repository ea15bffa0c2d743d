package store

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A mark with any flipped bit counts as none, and never says something else than was written. So does a mark without a
// checksum, as earlier versions have written, and one that is far too long.
func TestFlippedMarkIsNone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, cleanStopFile)
	l := &Log{stream: streams[0]}
	l.last, l.chain[0] = 1234, 0xab
	if err := writeCleanStop(dir, []*Log{l}); err != nil {
		t.Fatal(err)
	}
	want, err := readCleanStop(dir)
	if err != nil || want == nil || want.Ends["LEDGE_EVENTS"].Last != 1234 {
		t.Fatalf("got %+v, %v", want, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := readCleanStop(dir); err != nil || got != nil && !reflect.DeepEqual(got.Ends, want.Ends) {
				t.Fatalf("byte %d, bit %d: got %+v, %v", i, bit, got, err)
			}
			text[i] ^= 1 << bit
		}
	}
	for name, text := range map[string][]byte{
		"of an earlier version": []byte(`{"ends":{"LEDGE_EVENTS":{"last":1234,"chain":""}}}`), "empty": nil, "long": make([]byte, maxCleanStop+1),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readCleanStop(dir); err != nil || got != nil {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
