package projections

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// checkpoint is the last event that a file has folded.
type checkpoint struct {
	seq   uint64
	chain [32]byte
}

var (
	bucketName    = []byte("ledge")
	checkpointKey = []byte{metaID, 'c'}
)

func readCheckpoint(rows *bbolt.Bucket) (c checkpoint, err error) {
	b := fetch(rows, checkpointKey)
	if b == nil {
		return c, nil
	}
	if len(b) != 8+len(c.chain) {
		return c, fmt.Errorf("checkpoint of %d bytes", len(b))
	}
	c.seq = binary.BigEndian.Uint64(b)
	copy(c.chain[:], b[8:])
	return c, nil
}

func (c checkpoint) write(rows *bbolt.Bucket) error {
	value := append(binary.BigEndian.AppendUint64(nil, c.seq), c.chain[:]...)
	return rows.Put(checkpointKey, seal(checkpointKey, value))
}
