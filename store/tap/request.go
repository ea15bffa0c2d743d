package tap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// request is a request for history that waits or is being served: a JetStream direct get, or "ledge.info".
type request struct {
	logs  Source
	conn  *responder
	log   Log // nil for ledge.info
	reply string

	status string // the answer, where the request itself is wrong
	want   want
	single bool // one message is asked for, not a batch
	from   uint64
	at     Position // of from
	most   int      // messages that are still to be sent
	bytes  int      // of these, at the most
	sent   int
	last   uint64                                                   // the sequence that was sent last
	back   func(context.Context) (m *Message, done bool, err error) // looks for the last message of a subject
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

// newRequest reads a request.
func newRequest(logs Source, conn *responder, subject, reply string, body []byte) *request {
	a := &request{logs: logs, conn: conn, reply: reply}
	if subject == infoSubject {
		return a
	}
	name, last, _ := strings.Cut(strings.TrimPrefix(subject, directGet), ".")
	for _, l := range logs.Logs() {
		if l.Name() == name {
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
func (a *request) parse(last string, body []byte) (status string) {
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
	a.from, a.single, a.most, a.bytes = w.Seq, w.Batch == 0, max(w.Batch, 1), batchBytes
	if w.MaxBytes > 0 {
		a.bytes = min(w.MaxBytes, batchBytes)
	}
	return ""
}

// slice does some of the work, and reports how many bytes it has sent, and whether that was all.
func (a *request) slice(ctx context.Context) (sent int64, done bool) {
	switch {
	case a.status != "":
		return a.end(a.status), true
	case a.log == nil:
		text := a.logs.Info()
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
func (a *request) forward(ctx context.Context) (sent int64, done bool) {
	first, last := a.log.First(), a.log.Visible()
	to := last
	if a.single && a.want.NextFor == "" && a.want.StartTime == nil {
		if a.from < first || a.from > last {
			return a.end(notFound), true
		}
		to = a.from
	}
	a.from = max(a.from, first)
	if a.from <= to {
		s := Search{From: a.from, To: to, Filter: a.want.NextFor, Most: a.most, Bytes: min(a.bytes, SliceBytes), At: a.at}
		if err := a.log.Search(ctx, &s); err != nil {
			return a.fail(err), true
		}
		a.from, a.at = s.From, s.At
		for _, m := range s.Found {
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
func (a *request) send(m Message, last uint64) int64 {
	conn := a.conn
	h := conn.header[:0]
	if !a.want.NoHeaders {
		h = append(h, m.Headers[:max(len(m.Headers)-len("\r\n"), 0)]...)
		h = fmt.Appendf(h, "Nats-Stream: %s\r\nNats-Subject: %s\r\nNats-Sequence: %d\r\nNats-Time-Stamp: %s\r\n",
			a.log.Name(), m.Subject, m.Seq, m.At.UTC().Format(time.RFC3339Nano))
		if !a.single {
			h = fmt.Appendf(h, "Nats-Num-Pending: %d\r\nNats-Last-Sequence: %d\r\n", last-min(m.Seq, last), a.last)
		}
		h = append(h, "\r\n"...)
		conn.header = h
	}
	conn.send(a.reply, h, m.Data)
	a.sent, a.most, a.bytes, a.last = a.sent+1, a.most-1, a.bytes-m.size(), m.Seq
	return int64(len(h) + len(m.Data))
}

// end sends a status.
func (a *request) end(status string) int64 {
	h := "NATS/1.0 " + status + "\r\n\r\n"
	a.conn.send(a.reply, []byte(h), nil)
	return int64(len(h))
}

// fail sends why the log cannot be read.
func (a *request) fail(err error) int64 {
	return a.end("500 " + strings.NewReplacer("\r", " ", "\n", " ").Replace(err.Error()))
}

// lastFor sends the last message of a subject.
func (a *request) lastFor(ctx context.Context) (sent int64, done bool) {
	if a.back == nil {
		a.back = a.log.Backward(a.want.LastFor)
	}
	m, done, err := a.back(ctx)
	switch {
	case err != nil:
		return a.fail(err), true
	case !done:
		return 0, false
	case m == nil:
		return a.end(notFound), true
	}
	return a.send(*m, m.Seq), true
}
