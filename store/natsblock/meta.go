package natsblock

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// EncodeMeta returns the bytes of meta.inf and meta.sum for a stream.
func EncodeMeta(c server.StreamConfig, created time.Time) (inf, sum []byte, err error) {
	if inf, err = json.Marshal(server.FileStreamInfo{Created: created, StreamConfig: c}); err != nil {
		return nil, nil, fmt.Errorf("description of stream %s: %w", c.Name, err)
	}
	return inf, hexSum(c.Name, inf), nil
}

func hexSum(stream string, inf []byte) []byte {
	return hex.AppendEncode(nil, sumOf(stream, inf))
}

// ErrMeta is in the chain of the error for a description that the server would not accept.
var ErrMeta = errors.New("description of the stream")

// DecodeMeta reads them back, as the server does: the error says that it would start without the stream.
func DecodeMeta(stream string, inf, sum []byte) (server.StreamConfig, time.Time, error) {
	if string(hexSum(stream, inf)) != string(sum) {
		return server.StreamConfig{}, time.Time{}, fmt.Errorf("%w: meta.inf does not match meta.sum", ErrMeta)
	}
	var i server.FileStreamInfo
	if err := json.Unmarshal(inf, &i); err != nil {
		return server.StreamConfig{}, time.Time{}, fmt.Errorf("%w: %w", ErrMeta, err)
	}
	return i.StreamConfig, i.Created, nil
}
