package store

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/archive"
)

const (
	// restoreRate is how many bytes a second a salvage writes after the first restoreBurst. The server keeps each block in memory for 10
	// seconds after its last write: so at most 300 MiB are in use. Without a limit it was all of a log of 1 GB.
	restoreRate  = 24 << 20
	restoreBurst = 2 * maxPayload
)

// restore has the server write messages that come with their sequences and times: a publish gets the time at which it comes.
type restore struct {
	node   *node
	stream stream
	wait   func(bytes int) error // until so much may be written
	store  server.StreamStore    // nil before the first message
}

// write adds a message, which was stored at a time in nanoseconds since 1970. The first one has any sequence, each other one the next. The
// headers have their first line and the empty one at their end.
func (r *restore) write(seq uint64, at int64, subject string, headers, data []byte) error {
	if r.store == nil {
		if err := r.begin(seq); err != nil {
			return err
		}
	}
	if err := r.wait(len(headers) + len(data)); err != nil {
		return err
	}
	return r.store.StoreRawMsg(subject, headers, data, seq, at, 0, false)
}

// begin has the server restore an empty stream that begins at a sequence, from an archive as it makes one itself: the state of the stream, no
// messages, and an entry of zeros. Messages could follow in it, but the restore would read them beside whoever writes them.
func (r *restore) begin(first uint64) error {
	account, err := r.node.server.LookupAccount(accountName)
	if err != nil {
		return err
	}
	state, err := json.Marshal(server.StreamState{FirstSeq: first, LastSeq: first - 1})
	if err != nil {
		return err
	}
	var text bytes.Buffer
	packed := s2.NewWriter(&text)
	a := archive.NewWriter(packed)
	err = a.WriteHeader(&archive.Header{Name: "state.json", PayloadSize: int64(len(state))})
	_, werr := a.Write(state)
	if err := errors.Join(err, werr, a.WriteHeader(&archive.Header{}), packed.Close()); err != nil {
		return err
	}
	config := streamConfig(r.stream)
	made, err := account.RestoreStreamV2(&config, &text)
	if err != nil {
		return err
	}
	r.store = made.Store()
	return nil
}
