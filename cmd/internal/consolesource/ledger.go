package consolesource

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"ledge/cmd/internal/check"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/handlers/console"
	"ledge/store"
)

// ledgerBytes is how many bytes of events are read at once at most.
const ledgerBytes = 16 << 20

// ledger is the log as the console shows it.
type ledger struct {
	names []string
	logs  map[string]*store.Log

	verifier *check.Verifier
	ctx      context.Context // that a verification lives in
	stop     context.CancelFunc
	running  sync.WaitGroup
	archives *store.Log // the log that may go on in archives
}

// logNames are the console's names of the logs, in the order of node.Parts.
var logNames = []string{"changes", "notifications", "readings"}

// newLedger returns the ledger of the console. A verification that it begins ends with close.
func newLedger(n *node.Node, v *check.Verifier) *ledger {
	ctx, stop := context.WithCancel(context.Background())
	return &ledger{
		names: logNames,
		logs:  map[string]*store.Log{"changes": n.Changes.Log, "notifications": n.Notifications.Log, "readings": n.Readings.Log},
		ctx:   ctx, stop: stop, archives: n.Changes.Log, verifier: v,
	}
}

// close ends the verification that runs.
func (l *ledger) close() {
	l.stop()
	l.running.Wait()
}

// Logs implements console.Ledger.
func (l *ledger) Logs() (spans []console.LogSpan) {
	for _, name := range l.names {
		last, chain := l.logs[name].Last()
		spans = append(spans, console.LogSpan{Name: name, First: l.first(name), Last: last, Chain: hex.EncodeToString(chain[:])})
	}
	return spans
}

// first is the first sequence that can be there.
func (l *ledger) first(name string) uint64 {
	if log := l.logs[name]; log != l.archives {
		return max(log.First(), 1)
	}
	return 1
}

// Back implements console.Ledger.
func (l *ledger) Back(ctx context.Context, name string, from uint64, most int, each func(console.Entry) bool) (next uint64, err error) {
	log, first := l.logs[name], l.first(name)
	window := uint64(most)
	for looked := 0; from >= first && looked < most; {
		to := from
		begin := max(first, to-min(to-1, min(window, uint64(most-looked))-1))
		list, whole, err := readWindow(ctx, log, begin, to)
		if node.IsGap(err) {
			err, first = nil, begin // what is before is in an archive that is missing or damaged
		}
		if err != nil {
			return 0, exit.WithDamage(err)
		}
		if !whole && window > 1 {
			window = max(window/8, 1)
			continue
		}
		for _, m := range slices.Backward(list) {
			looked++
			if !each(entryOf(name, m)) {
				return goOn(m.Seq, first), nil
			}
		}
		from = begin - 1
	}
	return goOn(from+1, first), nil
}

// goOn is the sequence before one, 0 if the log begins with it.
func goOn(seq, first uint64) uint64 {
	if seq <= first {
		return 0
	}
	return seq - 1
}

// readWindow reads some events in a row; whole is false if they have too many bytes to hold.
func readWindow(ctx context.Context, log *store.Log, from, to uint64) (list []store.Message, whole bool, err error) {
	bytes := 0
	for m, err := range log.ReadRaw(ctx, from, to) {
		if err != nil {
			return list, true, err
		}
		if bytes += len(m.Data); bytes > ledgerBytes && from < to {
			return nil, false, nil
		}
		list = append(list, m)
	}
	return list, true, nil
}

// entryOf is an event without its data.
func entryOf(log string, m store.Message) console.Entry {
	w := m.Wire()
	e := console.Entry{Log: log, Seq: m.Seq, Stamp: m.Stamp(), Type: w.Type, Subject: w.Subject, ContentType: w.ContentType, Size: len(m.Data)}
	e.Explain = func() (string, string) {
		if reason := logs.Undecodable(w); reason != "" {
			return "", reason
		}
		return trimmed(logs.Detail(w)), ""
	}
	return e
}

// trimmed is a detail without the space that separates it in a line, and not longer than a row should be.
func trimmed(text string) string {
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return text
}

// Entry implements console.Ledger.
func (l *ledger) Entry(ctx context.Context, name string, seq uint64) (e console.Entry, ok bool, err error) {
	log := l.logs[name]
	if last, _ := log.Last(); seq == 0 || seq > last || seq < l.first(name) {
		return e, false, nil
	}
	for m, err := range log.ReadRaw(ctx, seq, seq) {
		if node.IsGap(err) {
			return e, false, domain.Errorf(domain.NotFound, "%s", err)
		}
		if err != nil {
			return e, false, exit.WithDamage(err)
		}
		if m.Seq == seq {
			e, ok = entryOf(name, m), true
			e.Data = m.Data[:min(len(m.Data), console.MostEntryData)]
			e.Changes = changesIn(m.Data)
			for _, f := range m.Header {
				e.Headers = append(e.Headers, [2]string{f.Name, f.Value})
			}
		}
	}
	for r, err := range log.Read(ctx, seq, seq) {
		if err == nil && r.Seq == seq {
			e.Chain = hex.EncodeToString(r.Chain[:])
		}
	}
	return e, ok, ctx.Err()
}

// changesIn finds what an event says it has changed.
func changesIn(data []byte) domain.Changes {
	var e struct {
		Changes domain.Changes `json:"changes"`
	}
	_ = json.Unmarshal(data, &e) // an event without changes has none
	return e.Changes
}

// Since implements console.Ledger.
func (l *ledger) Since(ctx context.Context, name string, at time.Time) (uint64, error) {
	return l.logs[name].Since(ctx, at)
}

// Verification implements console.Ledger.
func (l *ledger) Verification() console.Verification {
	return l.verifier.Last()
}

// Verify implements console.Ledger.
func (l *ledger) Verify(actor string) {
	if l.ctx.Err() != nil {
		return
	}
	if run, ok := l.verifier.Begin(actor); ok {
		l.running.Go(func() { _ = run(l.ctx, io.Discard, func(string, int64, int64) {}) }) // Verification has its result
	}
}
