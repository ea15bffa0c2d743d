package store

import (
	"encoding/json"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/archive"
)

// restore has the server write a new stream from messages that come with their sequences and times: a publish gets the time at which it comes.
// The server reads its own archive of a stream from a pipe: first its state, then the messages in order, then an entry of zeros.
type restore struct {
	node   *node
	stream stream

	pipe    *io.PipeWriter // nil before the first message
	packed  *s2.Writer
	archive *archive.Writer
	done    chan error // the server's, once
}

// write adds a message, which was stored at a time in nanoseconds since 1970. The sequences ascend. The headers have their first line and the
// empty one at their end.
func (r *restore) write(seq uint64, at int64, subject string, headers, data []byte) error {
	if r.pipe == nil {
		if err := r.begin(seq); err != nil {
			return err
		}
	}
	h := &archive.Header{Name: subject, Sequence: seq, Timestamp: at, HeaderSize: int64(len(headers)), PayloadSize: int64(len(data))}
	return r.entry(h, headers, data)
}

func (r *restore) begin(first uint64) error {
	account, err := r.node.server.LookupAccount(accountName)
	if err != nil {
		return err
	}
	state, err := json.Marshal(server.StreamState{FirstSeq: first, LastSeq: first})
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	r.pipe, r.done = in, make(chan error, 1)
	r.packed = s2.NewWriter(in, s2.WriterConcurrency(1), s2.WriterUncompressed())
	r.archive = archive.NewWriter(r.packed)
	config := streamConfig(r.stream)
	go func() {
		_, err := account.RestoreStreamV2(&config, out)
		_ = out.CloseWithError(err) // nil: what is written behind the end
		r.done <- err
	}()
	return r.entry(&archive.Header{Name: "state.json", PayloadSize: int64(len(state))}, state)
}

func (r *restore) entry(h *archive.Header, parts ...[]byte) error {
	if err := r.archive.WriteHeader(h); err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := r.archive.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// close ends the stream and returns why the server did not write all of it. Without a message it makes no stream.
func (r *restore) close() error {
	if r.pipe == nil {
		return nil
	}
	_ = r.entry(&archive.Header{}) // if it does not arrive, the server says so
	_ = r.packed.Close()
	return r.abort(io.ErrUnexpectedEOF)
}

// abort ends the stream for a reason. It returns the server's error, nil if the stream had ended.
func (r *restore) abort(reason error) error {
	if r.pipe == nil {
		return nil
	}
	_ = r.pipe.CloseWithError(reason)
	return <-r.done
}
