package retention

import (
	"context"
	"strings"
	"sync"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/handlers"
	"ledge/projections"
	"ledge/store"
)

// ruleRemover removes data events by the rules of the setting readings-retention, the oldest of a rule first, in parts that
// each are one event on the log. The age of a data event is that of its record on the log: what a device service says of
// its origin makes it neither older nor younger.
//
// Nothing is polled. By age, each data event is looked at once for each rule with an age, when the event is that old. By bytes
// and count, the events of each rule are counted along with the log. A rule that is over its limit loses a hundredth more, so
// that not every reading removes one. At the start, and after removals by others once a rule is over its limit, the
// counters of all sources are read, which takes some 10 µs for each device and resource.
type ruleRemover struct {
	rules config.Rules
	logStart
	log   *store.Appender
	woken chan struct{} // a rule is over its limit, or something was removed
	from  []uint64      // by rule: no data event before is left that it is about
	due   []time.Time   // by rule: when to look for events that are too old

	mu      sync.Mutex
	kept    []tally // by rule; nil until it is counted
	at      uint64  // kept is as of this sequence
	first   uint64  // where the log began then
	stale   bool    // others have removed data events: kept is too much
	removed []tally // by rule, since the start
}

// tally counts data events and the bytes of their values.
type tally struct{ count, bytes int64 }

func newRuleRemover(rules config.Rules, d *node.Node) *ruleRemover {
	n := len(rules)
	return &ruleRemover{
		rules: rules, log: d.Readings.Appender, logStart: logStart{d.Readings.State, d.Readings.Log, d.Logger, handlers.IdempotencyKeep, d.Now},
		woken: make(chan struct{}, 1), from: make([]uint64, n), due: make([]time.Time, n), removed: make([]tally, n),
	}
}

// run counts the events of each rule, and removes until ctx ends.
func (r *ruleRemover) run(ctx context.Context) error {
	if err := node.Try(func() error { return r.recount(ctx) }); err != nil {
		return err
	}
	failed, from := make(chan error, 1), r.at+1
	go func() { failed <- r.log.Follow(ctx, from, r.notice) }()
	for {
		next := r.sweep(ctx)
		timer := time.NewTimer(next.Sub(r.now()))
		select {
		case err := <-failed:
			timer.Stop()
			return err
		case <-r.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// recount reads what each rule keeps, without what has left the log by its front. The lock is held meanwhile, so that
// nothing is counted twice.
func (r *ruleRemover) recount(ctx context.Context) error {
	first := r.stream.First()
	if _, err := r.state.Forget(ctx, first); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, done := r.state.View()
	defer done()
	kept := make([]tally, len(r.rules))
	const page = 1000
	for after, more := "", len(kept) > 0; more; {
		list, err := v.Sources(after, page)
		if err != nil {
			return err
		}
		for _, s := range list {
			after = s.Key()
			if i := r.rules.Find(s.Profile, s.Device, s.Source); i >= 0 {
				kept[i].add(int64(s.Count), s.Bytes)
			}
		}
		more = len(list) == page
	}
	r.at, _ = v.Checkpoint()
	r.kept, r.first, r.stale = kept, first, false
	return nil
}

func (t *tally) add(count, bytes int64) { t.count, t.bytes = t.count+count, t.bytes+bytes }

// notice counts what is recorded, and wakes run if there is something to do.
func (r *ruleRemover) notice(group []domain.Recorded) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range group {
		if one.Seq > r.at {
			r.count(one.Event)
			r.at = one.Seq
		}
	}
	return nil
}

// count is called with the lock held.
func (r *ruleRemover) count(e domain.Event) {
	switch e := e.(type) {
	case domain.ReadingPosted:
		r.grow(e.Profile, e.Device, e.Resource, e.Size)
	case domain.DataEventAdded:
		var bytes int64
		for _, one := range e.Readings {
			bytes += one.Size
		}
		r.grow(e.Event.Profile, e.Event.Device, e.Event.Source, bytes)
	case domain.DataEventsRemoved:
		if e.Rule == "" || strings.HasPrefix(e.Rule, "readings-max-") { // see bound
			r.stale = true
			node.Wake(r.woken) // the front of the log may go
		}
	}
}

func (r *ruleRemover) grow(profile, device, source string, bytes int64) {
	if i := r.rules.Find(profile, device, source); i >= 0 {
		r.kept[i].add(1, bytes)
		if findExceeded(r.rules[i], r.kept[i]) != "" {
			node.Wake(r.woken)
		}
	}
}

// findExceeded names the limit that a rule's events are over, if any.
func findExceeded(r config.Rule, kept tally) string {
	switch {
	case r.Bytes > 0 && kept.bytes > int64(r.Bytes):
		return config.LimitBytes
	case r.Count > 0 && kept.count > r.Count:
		return config.LimitCount
	}
	return ""
}

// longestPace is the longest time between two looks for events that are too old, shortestPace the shortest. The usual time is a
// thousandth of the age.
const (
	longestPace  = time.Minute
	shortestPace = time.Second
)

func pace(age time.Duration) time.Duration { return min(max(age/1000, shortestPace), longestPace) }

// drop drops the front of the log; what is counted is not in it.
func (r *ruleRemover) drop(ctx context.Context) {
	before, first, needed := r.logStart.drop(ctx, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	if first <= needed && r.first == before {
		r.first = first // nothing that is counted is gone
	}
}

// sweep removes what is over a limit and returns when to look again. Errors are logged, and the next look tries again.
func (r *ruleRemover) sweep(ctx context.Context) (next time.Time) {
	next = r.now().Add(longestPace)
	for i := range r.rules {
		err := node.Try(func() error { return r.enforce(ctx, i) })
		if err != nil && ctx.Err() == nil {
			r.logger.Warn("retention interrupted, tried again in a minute or sooner", "rule", r.rules[i].String(), "error", err)
		}
		if due := r.due[i]; !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	r.drop(ctx)
	return next
}

// enforce removes what a rule says has to go.
func (r *ruleRemover) enforce(ctx context.Context, i int) error {
	if err := r.byAge(ctx, i); err != nil {
		return err
	}
	return r.bySize(ctx, i)
}

// byAge removes what is older than a rule's age, if it is time to look for it.
func (r *ruleRemover) byAge(ctx context.Context, i int) error {
	rule := r.rules[i]
	if rule.Age == 0 || r.now().Before(r.due[i]) {
		return nil
	}
	r.due[i] = r.now().Add(pace(rule.Age))
	end, err := r.stream.OlderThan(ctx, r.now().Add(-rule.Age))
	if err != nil {
		return err
	}
	_, err = r.remove(ctx, i, config.LimitAge, func(e projections.RecordedEvent) bool { return e.Seq < end })
	return err
}

// bySize removes what is over a rule's bytes, and then over its count.
func (r *ruleRemover) bySize(ctx context.Context, i int) error {
	for range 2 {
		limit, over, err := r.over(ctx, i)
		if limit == "" || err != nil {
			return err
		}
		if n, err := r.remove(ctx, i, limit, over.take); n == 0 || err != nil {
			return err
		}
	}
	return nil
}

// over returns the limit that a rule's events are over, and what has to go until a hundredth is free.
func (r *ruleRemover) over(ctx context.Context, i int) (limit string, over *excess, err error) {
	if limit, over = r.excess(i); limit == "" || !r.isStale() {
		return limit, over, nil
	}
	if err := r.recount(ctx); err != nil {
		return "", nil, err
	}
	limit, over = r.excess(i)
	return limit, over, nil
}
