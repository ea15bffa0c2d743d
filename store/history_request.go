package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// historyRequest is a request for history that waits or is being served: a JetStream direct get, or "ledge.info".
type historyRequest struct {
	store *Store
	conn  *historyConn
	log   *Log // nil for ledge.info
	reply string

	status string // the answer, where the request itself is wrong
	want   want
	single bool // one message is asked for, not a batch
	from   uint64
	at     cursor // of from
	most   int    // messages that are still to be sent
	bytes  int    // of these, at the most
	sent   int
	last   uint64 // the sequence that was sent last
	back   *backward
}

// want is the body of a direct get, by JetStream's names.
type want struct {
	Seq       uint64     `json:"seq"`
	LastFor   string     `json:"last_by_subj"`
	NextFor   string     `json:"next_by_subj"`
	Batch     int        `json:"batch"`
	MaxBytes  int        `json:"max_bytes"`
	StartTime *time.Time `json:"start_time"`
	MultiLast []string   `json:"multi_last"`
	UpToSeq   uint64     `json:"up_to_seq"`
	UpToTime  *time.Time `json:"up_to_time"`
	NoHeaders bool       `json:"no_hdr"`
}

const notFound = "404 Message Not Found"

// newHistoryRequest reads a request.
func newHistoryRequest(s *Store, d *historyConn, subject, reply string, body []byte) *historyRequest {
	a := &historyRequest{store: s, conn: d, reply: reply}
	if subject == infoSubject {
		return a
	}
	name, last, _ := strings.Cut(strings.TrimPrefix(subject, directGet), ".")
	for _, l := range s.logs {
		if l.name == name {
			a.log = l
		}
	}
	if a.log == nil {
		a.status = "404 No Stream"
		return a
	}
	a.status = a.parse(last, body)
	return a
}

// parse reads the body of a direct get. The status is empty where it can be served.
func (a *historyRequest) parse(last string, body []byte) (status string) {
	w := &a.want
	if len(body) > 0 {
		if err := json.Unmarshal(body, w); err != nil {
			return "408 Malformed Request"
		}
	}
	if last != "" {
		if w.LastFor != "" || w.NextFor != "" || w.Seq > 0 || w.Batch > 0 || w.StartTime != nil || len(w.MultiLast) > 0 {
			return "408 Bad Request"
		}
		w.LastFor = last
	}
	switch {
	case len(w.MultiLast) > 0 || w.UpToSeq > 0 || w.UpToTime != nil:
		return "408 Bad Request: multi_last is not served"
	case w.Seq == 0 && w.LastFor == "" && w.NextFor == "" && w.StartTime == nil:
		return "408 Empty Request"
	case w.LastFor != "" && (w.Seq > 0 || w.StartTime != nil || w.NextFor != "" || w.Batch > 0), w.Seq > 0 && w.StartTime != nil, w.Batch < 0:
		return "408 Bad Request"
	}
	a.from, a.single, a.most, a.bytes = w.Seq, w.Batch == 0, max(w.Batch, 1), historyBatch
	if w.MaxBytes > 0 {
		a.bytes = min(w.MaxBytes, historyBatch)
	}
	return ""
}

// slice does some of the work, and reports how many bytes it has sent, and whether that was all.
func (a *historyRequest) slice(ctx context.Context) (sent int64, done bool) {
	switch {
	case a.status != "":
		return a.end(a.status), true
	case a.log == nil:
		text, _ := json.Marshal(a.store.Info())
		a.conn.send(a.reply, nil, text)
		return int64(len(text)), true
	case a.want.LastFor != "":
		return a.lastFor(ctx)
	case a.want.StartTime != nil && a.from == 0:
		from, err := a.log.Since(ctx, *a.want.StartTime)
		if a.from = max(from, 1); err != nil {
			return a.fail(err), true
		}
		return 0, false
	}
	return a.forward(ctx)
}

// forward sends the messages from a sequence on.
func (a *historyRequest) forward(ctx context.Context) (sent int64, done bool) {
	first, last := a.log.First(), a.log.shownSeq()
	to := last
	if a.single && a.want.NextFor == "" && a.want.StartTime == nil {
		if a.from < first || a.from > last {
			return a.end(notFound), true
		}
		to = a.from
	}
	a.from = max(a.from, first)
	if a.from <= to {
		s := search{from: a.from, to: to, filter: a.want.NextFor, most: a.most, bytes: min(a.bytes, historySlice), at: a.at, scan: &a.conn.scan}
		if err := a.log.search(ctx, &s); err != nil {
			return a.fail(err), true
		}
		a.from, a.at = s.from, s.at
		for _, m := range s.found {
			sent += a.send(m, last)
		}
	}
	if a.most > 0 && a.bytes > 0 && a.from <= to {
		return sent, false
	}
	switch {
	case a.sent == 0:
		return sent + a.end(notFound), true
	case a.single:
		return sent, true
	}
	pending := uint64(0)
	if a.from <= last {
		pending = last - a.from + 1
	}
	return sent + a.end(fmt.Sprintf("204 EOB\r\nNats-Num-Pending: %d\r\nNats-Last-Sequence: %d", pending, a.last)), true
}

// send sends a message with the headers that JetStream adds; last is where the log ends.
func (a *historyRequest) send(m stored, last uint64) int64 {
	d := a.conn
	h := d.header[:0]
	if !a.want.NoHeaders {
		h = append(h, m.headers[:max(len(m.headers)-len("\r\n"), 0)]...)
		h = fmt.Appendf(h, "Nats-Stream: %s\r\nNats-Subject: %s\r\nNats-Sequence: %d\r\nNats-Time-Stamp: %s\r\n",
			a.log.name, m.subject, m.seq, m.at.UTC().Format(time.RFC3339Nano))
		if !a.single {
			h = fmt.Appendf(h, "Nats-Num-Pending: %d\r\nNats-Last-Sequence: %d\r\n", last-min(m.seq, last), a.last)
		}
		h = append(h, "\r\n"...)
		d.header = h
	}
	d.send(a.reply, h, m.data)
	size := len(m.subject) + len(m.headers) + len(m.data)
	a.sent, a.most, a.bytes, a.last = a.sent+1, a.most-1, a.bytes-size, m.seq
	return int64(len(h) + len(m.data))
}

// end sends a status.
func (a *historyRequest) end(status string) int64 {
	h := "NATS/1.0 " + status + "\r\n\r\n"
	a.conn.send(a.reply, []byte(h), nil)
	return int64(len(h))
}

// fail sends why the log cannot be read.
func (a *historyRequest) fail(err error) int64 {
	return a.end("500 " + strings.NewReplacer("\r", " ", "\n", " ").Replace(err.Error()))
}

// lastFor sends the last message of a subject.
func (a *historyRequest) lastFor(ctx context.Context) (sent int64, done bool) {
	if a.back == nil {
		back, err := a.log.newBackward(a.want.LastFor)
		if err != nil {
			return a.fail(err), true
		}
		a.back = back
	}
	done, err := a.log.lookBack(ctx, a.back)
	switch {
	case err != nil:
		return a.fail(err), true
	case !done:
		return 0, false
	case a.back.found == nil:
		return a.end(notFound), true
	}
	return a.send(*a.back.found, a.back.found.seq), true
}
