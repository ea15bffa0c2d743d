package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"ledge/cmd/internal/config"
	"ledge/projections"
)

// rules are the limit readings-retention: data events are removed by the first rule that matches, the oldest first. The age of a data event
// is that of its record on the log: what a device service says of its origin makes it neither older nor younger.
//
// Each sweep reads the counters of all sources, which takes some 10 µs for each device and resource.
type rules struct {
	stream
	rules config.Rules
	from  []uint64 // by rule: no data event before is left that it is about

	mu      sync.Mutex
	kept    []tally // by rule, after the last sweep; nil before the first
	removed []tally // by rule, since the start
}

// tally counts data events and the bytes of their values.
type tally struct{ count, bytes int64 }

func (t *tally) add(count, bytes int64) { t.count, t.bytes = t.count+count, t.bytes+bytes }

func newRules(list config.Rules, readings stream) *rules {
	return &rules{stream: readings, rules: list, from: make([]uint64, len(list)), removed: make([]tally, len(list))}
}

// keep removes what is over a rule. A rule that cannot be kept does not keep the others from their work.
func (r *rules) keep(ctx context.Context) error {
	kept, err := r.count()
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.kept = slices.Clone(kept)
	r.mu.Unlock()
	var errs []error
	for i := range kept {
		gone, err := r.enforce(ctx, i, kept[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", &r.rules[i], err))
		}
		r.mu.Lock()
		r.kept[i].add(-gone.count, -gone.bytes)
		r.removed[i].add(gone.count, gone.bytes)
		r.mu.Unlock()
	}
	return errors.Join(errs...)
}

// count returns what is there of each rule.
func (r *rules) count() ([]tally, error) {
	kept := make([]tally, len(r.rules))
	const page = 1000
	for after, more := "", true; more; {
		err := r.Read(func(v *projections.View) error {
			list, err := v.Sources(after, page)
			for _, s := range list {
				after = s.Key()
				if i := r.rules.Find(s.Profile, s.Device, s.Source); i >= 0 {
					kept[i].add(int64(s.Count), s.Bytes)
				}
			}
			more = len(list) == page
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// enforce removes what a rule says has to go of what is there: by its age, then by its bytes, then by its count.
func (r *rules) enforce(ctx context.Context, i int, kept tally) (gone tally, err error) {
	rule := r.rules[i]
	remove := func(limit string, goes func(projections.RecordedEvent) bool) {
		if err != nil {
			return
		}
		var some tally
		some, r.from[i], err = r.remove(ctx, rule.Why(limit), r.from[i], func(e projections.RecordedEvent) (bool, bool) {
			if r.rules.Find(e.Profile, e.Device, e.Source) != i {
				return false, true
			}
			is := goes(e)
			return is, is
		})
		gone.add(some.count, some.bytes)
	}
	if rule.Age > 0 {
		end, err := r.Log.OlderThan(ctx, r.node.Now().Add(-rule.Age))
		if err != nil {
			return gone, err
		}
		remove(config.LimitAge, func(e projections.RecordedEvent) bool { return e.Seq < end })
	}
	over := func() tally {
		return tally{kept.count - gone.count - rule.Count, kept.bytes - gone.bytes - int64(rule.Bytes)}
	}
	if left := over().bytes; rule.Bytes > 0 && left > 0 {
		remove(config.LimitBytes, func(e projections.RecordedEvent) bool { left -= e.Size; return left+e.Size > 0 })
	}
	if left := over().count; rule.Count > 0 && left > 0 {
		remove(config.LimitCount, func(projections.RecordedEvent) bool { left--; return left >= 0 })
	}
	return gone, err
}

// RuleUse is what a rule of readings keeps, as of the last sweep, and has removed since the start.
type RuleUse struct {
	Rule         string `json:"rule"`
	Kept         int64  `json:"keptEvents"`
	KeptBytes    int64  `json:"keptBytes"`
	Removed      int64  `json:"removedEvents"`
	RemovedBytes int64  `json:"removedBytes"`
}

// use is what each rule keeps and has removed; nothing until that is counted.
func (r *rules) use() []RuleUse {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]RuleUse, len(r.kept))
	for i, kept := range r.kept {
		list[i] = RuleUse{r.rules[i].String(), kept.count, kept.bytes, r.removed[i].count, r.removed[i].bytes}
	}
	return list
}
