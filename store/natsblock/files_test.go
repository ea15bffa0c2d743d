package natsblock_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"ledge/store/natsblock"

	"github.com/nats-io/nats-server/v2/server"
)

func sample() *natsblock.Index {
	return &natsblock.Index{
		Messages: 5, Bytes: 500, First: 3, Last: 7, FirstTime: 1_000, LastTime: 9_000,
		Subjects: []natsblock.Subject{{Name: "a.b", Total: 4, First: 1, Last: 2}, {Name: "a.c", Total: 1, First: 2, Last: 2}},
		Blocks: []natsblock.Block{
			{Number: 1, Bytes: 300, First: 3, Last: 5, FirstTime: 1_000, LastTime: 5_000},
			{Number: 2, Bytes: 200, First: 6, Last: 7, FirstTime: 6_000, LastTime: 9_000},
		},
		LastBlock: 2, Checksum: [8]byte{1, 2, 3, 4, 5, 6, 7, 8},
	}
}

func TestIndexReadsBack(t *testing.T) {
	for name, want := range map[string]*natsblock.Index{
		"some": sample(),
		"none": {Subjects: []natsblock.Subject{}, Blocks: []natsblock.Block{{Number: 1, First: 1}}, LastBlock: 1},
	} {
		if got, err := natsblock.Decode("S", want.Encode("S")); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// TestDamagedIndexIsRefused cuts an index at each byte and flips each.
func TestDamagedIndexIsRefused(t *testing.T) {
	text := sample().Encode("S")
	for at := range text {
		flipped := append([]byte(nil), text...)
		flipped[at] ^= 4
		for _, bad := range [][]byte{text[:at], flipped} {
			if _, err := natsblock.Decode("S", bad); !errors.Is(err, natsblock.ErrIndex) {
				t.Errorf("byte %d: %v", at, err)
			}
		}
	}
	if _, err := natsblock.Decode("T", text); !errors.Is(err, natsblock.ErrIndex) {
		t.Errorf("of another stream: %v", err)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add(sample().Encode("S"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if x, err := natsblock.Decode("S", text); err == nil {
			x.Encode("S")
		}
	})
}

func TestMetaReadsBack(t *testing.T) {
	want, at := server.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Storage: server.FileStorage, MaxBytes: -1}, time.Unix(5, 0).UTC()
	inf, sum, err := natsblock.EncodeMeta(want, at)
	if err != nil {
		t.Fatal(err)
	}
	got, created, err := natsblock.DecodeMeta("S", inf, sum)
	if err != nil || !created.Equal(at) || got.Name != "S" || got.Storage != server.FileStorage || got.MaxBytes != -1 {
		t.Errorf("%+v, %v, %v", got, created, err)
	}
	inf[3] ^= 1
	if _, _, err := natsblock.DecodeMeta("S", inf, sum); !errors.Is(err, natsblock.ErrMeta) {
		t.Errorf("altered: %v", err)
	}
}
