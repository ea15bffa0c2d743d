package domain

import (
	"encoding/json"
	"testing"
)

// BenchmarkRecord compares encoding with what is appended, which is read back where it may differ.
func BenchmarkRecord(b *testing.B) {
	for name, e := range map[string]Event{
		"device": DeviceAdded{Device: camera()}, "located": DeviceAdded{Device: with(camera(), func(d *Device) { d.Location = json.RawMessage(`{"lat":48.2}`) })},
	} {
		b.Run(name+"/encode", func(b *testing.B) {
			for b.Loop() {
				_, _ = Encode(e)
			}
		})
		b.Run(name+"/record", func(b *testing.B) {
			for b.Loop() {
				_, _, _ = Record(e)
			}
		})
	}
}

// BenchmarkUpdate compares an update with the whole entity with one of what changed.
func BenchmarkUpdate(b *testing.B) {
	s := given(onboarded()...)
	small, err := patchCamera("adminState", StateLocked).Decide(s)
	if err != nil {
		b.Fatal(err)
	}
	for name, e := range map[string]Event{"whole": Whole(s, small), "small": small} {
		w := mustEncode(b, e)
		b.Run(name+"/decode", func(b *testing.B) {
			for b.Loop() {
				_ = mustDecode(b, w)
			}
		})
		b.Run(name+"/encode", func(b *testing.B) {
			for b.Loop() {
				_ = mustEncode(b, e)
			}
		})
		b.Run(name+"/evolve", func(b *testing.B) {
			for b.Loop() {
				e.Evolve(s)
			}
		})
	}
	b.Run("decide", func(b *testing.B) {
		for b.Loop() {
			_ = mustDecide(b, s, patchCamera("adminState", StateUnlocked))
		}
	})
}
