package recorder

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"ledge/domain"
)

// closed is a log that takes nothing until it is open.
type closed struct {
	open  chan struct{}
	taken int
	bytes []int
}

func (c *closed) Submit(_ context.Context, reqs ...domain.Request) ([]domain.Outcome, error) {
	<-c.open
	bytes := 0
	outcomes := make([]domain.Outcome, len(reqs))
	for i, r := range reqs {
		bytes += len(r.Command.(domain.RecordTry).Record.Response)
		outcomes[i].Event = domain.TransmissionTried{}
	}
	c.taken, c.bytes = c.taken+len(reqs), append(c.bytes, bytes)
	return outcomes, nil
}

// No more bytes wait to be recorded than the budget has, and the log is handed no more at once; all of it is recorded in the end.
func TestWaitingBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &closed{open: make(chan struct{})}
		r := New(log, slog.New(slog.DiscardHandler), func(domain.Request) {})
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = r.Run(ctx) }()
		const large = 512 << 10
		const all = 4 * WaitingBytes / large
		added, done := 0, make(chan struct{})
		go func() {
			defer close(done)
			for range all {
				r.Add(ctx, domain.Request{Command: domain.RecordTry{Record: domain.TransmissionRecord{Response: strings.Repeat("r", large)}}, Bytes: large})
				added++
			}
		}()
		synctest.Wait()
		if added != WaitingBytes/large-1 { // each takes a little more than its text
			t.Errorf("%d of %d were added while the log takes nothing", added, all)
		}
		close(log.open)
		<-done
		_ = r.Flush(ctx)
		if log.taken != all {
			t.Errorf("%d recorded, want %d", log.taken, all)
		}
		for _, bytes := range log.bytes {
			if bytes > SubmitBytes+large {
				t.Errorf("%d bytes at once", bytes)
			}
		}
		stop()
		synctest.Wait()
		if !r.budget.TryAcquire(WaitingBytes) {
			t.Error("budget is taken still")
		}
	})
}
