package consolesource

import (
	"context"
	"encoding/hex"
	"io"
	"sync"

	"ledge/cmd/internal/check"
	"ledge/cmd/internal/logs"
	"ledge/cmd/internal/node"
	"ledge/domain/eventlog"
	"ledge/handlers/console"
)

// ledger is the log as the console shows it.
type ledger struct {
	eventlog.Source
	node *node.Node

	verifier *check.Verifier
	ctx      context.Context // that a verification lives in
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// newLedger returns the ledger of the console. A verification that it begins ends with close.
func newLedger(n *node.Node, v *check.Verifier) *ledger {
	ctx, stop := context.WithCancel(context.Background())
	return &ledger{
		Source: n.Events(), node: n,
		ctx: ctx, stop: stop, verifier: v,
	}
}

// close ends the verification that runs.
func (l *ledger) close() {
	l.stop()
	l.running.Wait()
}

// Logs implements console.Ledger.
func (l *ledger) Logs() (spans []console.LogSpan) {
	for i, name := range eventlog.Names {
		last, chain := l.node.Parts()[i].Log.Last()
		first, _ := l.Source.Logs[name].Span()
		spans = append(spans, console.LogSpan{Name: name, First: first, Last: last, Chain: hex.EncodeToString(chain[:])})
	}
	return spans
}

// Page implements console.Ledger.
func (l *ledger) Page(ctx context.Context, q eventlog.Query) (eventlog.Page, error) {
	return l.Read(ctx, q)
}

// Explain implements console.Ledger.
func (l *ledger) Explain(e eventlog.Event) (detail, undecodable string) {
	if reason := logs.Undecodable(e.Wire); reason != "" {
		return "", reason
	}
	return trimmed(logs.Detail(e.Wire)), ""
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
