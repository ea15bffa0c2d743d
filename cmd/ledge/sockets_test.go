package main

import (
	"testing"

	"ledge/bridge/zeromq"
)

func TestFitSockets(t *testing.T) {
	for _, test := range []struct {
		descriptors                int
		fits                       bool
		sockets, peers, perAddress int
	}{
		{4968, true, 64, 2048, 256},
		{2112, true, 64, 2048, 256},
		{2111, false, 64, 2047, 256},
		{224, false, 56, 168, 84},
		{8, false, 2, 6, 3},
		{1, false, 1, 1, 1},
	} {
		o := zeromq.Options{MaxSockets: 64, MaxPeers: 2048, MaxPeersPerAddress: 256}
		fits := fitSockets(&o, test.descriptors)
		if fits != test.fits || o.MaxSockets != test.sockets || o.MaxPeers != test.peers || o.MaxPeersPerAddress != test.perAddress {
			t.Errorf("got %v, %d sockets, %d peers, %d of one address, want %+v", fits, o.MaxSockets, o.MaxPeers, o.MaxPeersPerAddress, test)
		}
	}
}
