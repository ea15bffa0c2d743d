package server

import (
	"testing"
)

func TestSplitDescriptors(t *testing.T) {
	for _, test := range []struct {
		most int
		want descriptors
	}{
		{64, descriptors{Store: 32, HTTP: 16, ZeroMQ: 8, NATS: 4, Outgoing: 4}},
		{1024, descriptors{Store: 128, HTTP: 448, ZeroMQ: 224, NATS: 112, Outgoing: 112}},
		{20_000, descriptors{Store: 128, HTTP: 9936, ZeroMQ: 4968, NATS: 2484, Outgoing: 2484}},
	} {
		got, err := splitDescriptors(test.most)
		if err != nil || got != test.want {
			t.Errorf("%d: got %+v, %v, want %+v", test.most, got, err, test.want)
		}
	}
	if got, err := splitDescriptors(63); err == nil {
		t.Errorf("63: got %+v, want an error", got)
	}
}
