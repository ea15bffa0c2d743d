package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const apiWait = 10 * time.Second

// streamConfig is what the server is told about a stream. There is no compression, no asynchronous persistence and no
// window of message ids: the first two lose acknowledged messages, the third costs memory and start-up time. The server
// removes nothing by age or bytes: who removes does it with [Log.DropBefore].
func streamConfig(st stream) server.StreamConfig {
	c := server.StreamConfig{
		Name: st.name, Subjects: []string{st.ingest + ">"},
		SubjectTransform: &server.SubjectTransformConfig{Source: st.ingest + ">", Destination: st.public + ">"},
		Retention:        server.LimitsPolicy, Storage: server.FileStorage, Discard: server.DiscardOld, Replicas: 1,
		MaxConsumers: -1, MaxMsgs: -1, MaxMsgsPer: -1, MaxMsgSize: -1, MaxBytes: -1,
		Duplicates: 100 * time.Millisecond, AllowDirect: true,
		DenyDelete: st.forever, // no DenyPurge: what is archived leaves the log, and nobody else is in this account
	}
	return c
}

// asked reports whether the stream that the server has is the one that want describes. The server fills in more than
// it is told, so only what we set is compared.
func asked(have, want server.StreamConfig) bool {
	return have.MaxAge == want.MaxAge && have.MaxBytes == want.MaxBytes && have.DenyDelete == want.DenyDelete &&
		have.DenyPurge == want.DenyPurge && have.AllowDirect == want.AllowDirect && have.Duplicates == want.Duplicates && have.Compression == want.Compression &&
		len(have.Subjects) == 1 && have.Subjects[0] == want.Subjects[0] &&
		have.SubjectTransform != nil && *have.SubjectTransform == *want.SubjectTransform
}

type streamResponse struct {
	Error *server.ApiError `json:"error"`
	*server.StreamInfo
}

// callStream asks the JetStream API for INFO of a stream.
func callStream(ctx context.Context, nc *nats.Conn, verb, name string, request any) (*server.StreamInfo, error) {
	var r streamResponse
	if err := callAPI(ctx, nc, verb, name, request, &r, func() *server.ApiError { return r.Error }); err != nil {
		return nil, err
	}
	if r.StreamInfo == nil {
		return nil, fmt.Errorf("stream %s: %s: empty answer", name, verb)
	}
	return r.StreamInfo, nil
}

// callAPI asks the JetStream API about a stream and decodes the answer; refusal returns the error in it, if there is one.
func callAPI(ctx context.Context, nc *nats.Conn, verb, name string, request, answer any, refusal func() *server.ApiError) error {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	m, err := nc.RequestWithContext(ctx, streamAPI+verb+"."+name, body)
	if err != nil {
		return fmt.Errorf("stream %s: %s: %w", name, verb, err)
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		return fmt.Errorf("stream %s: %s: %w", name, verb, err)
	}
	if r := refusal(); r != nil {
		return fmt.Errorf("stream %s: %s: %w", name, verb, r)
	}
	return nil
}

// streamInfo returns what the server knows of a stream; details adds the sequences that are missing.
func streamInfo(ctx context.Context, nc *nats.Conn, name string, details bool) (*server.StreamInfo, error) {
	return callStream(ctx, nc, "INFO", name, server.JSApiStreamInfoRequest{DeletedDetails: details})
}
