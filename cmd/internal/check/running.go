package check

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/handlers/console"
	"ledge/projections"
	"ledge/store"
)

// Verifier verifies the logs, the archives and the bodies beside the running services: for the console, and for `ledge verify`. One
// verification runs at a time. Damage of a log ends the server.
type Verifier struct {
	paths  datadir.Paths
	logs   []verifiedLog
	values *projections.DB
	now    func() time.Time

	mu   sync.Mutex
	last console.Verification // the one that runs, or the last that ended
}

// verifiedLog is a log with its name in the console.
type verifiedLog struct {
	name string
	*store.Log
}

// NewVerifier returns a verifier of a node.
func NewVerifier(n *node.Node, paths datadir.Paths) *Verifier {
	return &Verifier{
		paths: paths, values: n.Readings.State, now: n.Now,
		logs: []verifiedLog{{"changes", n.Changes.Log}, {"notifications", n.Notifications.Log}, {"readings", n.Readings.Log}},
	}
}

// Begin reserves the only place, and returns how to run the verification. It is not ok if another one runs.
func (v *Verifier) Begin(actor string) (run func(context.Context, io.Writer, progressFunc) error, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last.Running {
		return nil, false
	}
	before := v.last
	v.last = console.Verification{Running: true, Actor: actor, Started: v.now().UnixMilli()}
	for _, l := range v.logs {
		last, _ := l.Last()
		v.last.Total += last + 1 - min(max(l.First(), 1), last+1)
	}
	return func(ctx context.Context, w io.Writer, at progressFunc) error {
		err := node.Try(func() error { return v.run(ctx, w, at) })
		v.change(func(last *console.Verification) {
			if last.Running, last.Ended = false, v.now().UnixMilli(); err != nil {
				last.Damage = err.Error()
			}
			if ctx.Err() != nil {
				*last = before // it was interrupted
			}
		})
		return err
	}, true
}

// Last returns the verification that runs, or the last one that has ended.
func (v *Verifier) Last() console.Verification {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.last
	last.Reports = slices.Clone(last.Reports)
	if last.Total > 0 {
		last.Percent = min(100, 100*last.Done/last.Total)
	}
	return last
}

// change changes what is shown of the verification.
func (v *Verifier) change(f func(last *console.Verification)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(&v.last)
}

// run returns the first damage. What a log goes on to be meanwhile it does not read.
func (v *Verifier) run(ctx context.Context, w io.Writer, at progressFunc) error {
	for _, l := range v.logs {
		v.change(func(last *console.Verification) { last.Log = l.name })
		end, _ := l.Last()
		r, err := l.Verify(ctx, func(group []domain.Recorded) error {
			v.change(func(last *console.Verification) { last.Done += uint64(len(group)) })
			at(l.Name(), int64(group[0].Seq), int64(end))
			return nil
		})
		if err != nil {
			return exit.WithDamage(err)
		}
		printWhole(w, newStream(r))
		v.change(func(last *console.Verification) {
			last.Reports = append(last.Reports, console.VerifiedLog{
				Name: l.name, Count: r.Count, First: r.First, Last: r.Last, Chain: hex.EncodeToString(r.Head[:]), Skipped: len(r.Skipped),
			})
		})
	}
	v.change(func(last *console.Verification) { last.Log = "bodies" })
	b := &Bodies{dir: v.paths.Payloads(), log: v.logs[2].Log, Fold: v.values, follows: true, progress: at}
	if err := b.verify(ctx, w); err != nil {
		return err
	}
	v.change(func(last *console.Verification) { last.Log = "archives" })
	archived, err := verifyArchives(ctx, v.paths, v.logs[0].Log, w)
	return cmp.Or(err, b.damage(), archived)
}

// VerifyFor verifies for a client of the admin socket: it sends the report and how far it is.
func (v *Verifier) VerifyFor(ctx context.Context, actor string, send func(admin.Answer) error) error {
	run, ok := v.Begin(actor)
	if !ok {
		return errors.New("a verification is under way; wait until it ends")
	}
	shown := ""
	err := run(ctx, sentText(send), func(text string, done, total int64) {
		if now := fmt.Sprint(text, 100*done/max(total, 1)); now != shown {
			shown = now
			_ = send(admin.Answer{Progress: &admin.Progress{Text: text, Done: done, Total: total}}) // a client that has gone ends ctx
		}
	})
	if errors.Is(err, context.Canceled) {
		return domain.Errorf(domain.Unavailable, "the server is stopping; not all is verified")
	}
	return err
}

// sentText sends what is printed to a client of the admin socket.
type sentText func(admin.Answer) error

func (send sentText) Write(text []byte) (int, error) {
	return len(text), send(admin.Answer{Text: string(text)})
}

// takeStream implements streamTaker.
func (send sentText) takeStream(s *stream) {
	text, err := json.Marshal(s)
	if err == nil {
		err = send(admin.Answer{Stream: text})
	}
	_ = err // a client that has gone ends the verification
}

// verifyRunning has the running server verify, and prints its report to w.
func verifyRunning(ctx context.Context, server *admin.Client, w io.Writer, at progressFunc) error {
	var unread error
	_, err := server.Ask(ctx, admin.Request{Do: "verify"}, func(a admin.Answer) {
		if a.Progress != nil {
			at(a.Progress.Text, a.Progress.Done, a.Progress.Total)
			return
		}
		if a.Stream != nil {
			s := &stream{}
			unread = cmp.Or(unread, json.Unmarshal(a.Stream, s))
			printWhole(w, s)
		}
		fmt.Fprint(w, a.Text)
	})
	err = cmp.Or(err, unread)
	if _, isDamage := errors.AsType[exit.Error](err); err == nil || isDamage {
		fmt.Fprintf(w, "state: not compared, process %s is using it; stop it and verify again\n", server.Owner())
	}
	return err
}

// progressFunc is told how far a long command has come, in bytes or events. If total is 0, they are bytes of a total that is not known.
type progressFunc = func(text string, done, total int64)
