package retention

import (
	"context"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
)

// isStale reports whether data events have gone that were not counted: by others, or with the front of the log.
func (r *ruleRemover) isStale() bool {
	first := r.stream.First()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stale || first != r.first
}

// excess is how many events and bytes still have to go.
type excess struct{ tally }

// slack is the part of a limit that is made free once it is exceeded.
const slack = 100

func (r *ruleRemover) excess(i int) (limit string, over *excess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rule, kept := r.rules[i], r.kept[i]
	limit, over = findExceeded(rule, kept), &excess{}
	if rule.Bytes > 0 && limit == config.LimitBytes {
		over.bytes = kept.bytes - int64(rule.Bytes) + int64(rule.Bytes)/slack
	}
	if rule.Count > 0 && limit == config.LimitCount {
		over.count = kept.count - rule.Count + rule.Count/slack
	}
	return limit, over
}

// take reports whether one more event has to go, and takes it off.
func (x *excess) take(e projections.RecordedEvent) bool {
	if x.count <= 0 && x.bytes <= 0 {
		return false
	}
	x.add(-1, -e.Size)
	return true
}

// remove removes, in parts, the oldest events of a rule, as long as goes says so, and returns how many.
func (r *ruleRemover) remove(ctx context.Context, i int, limit string, goes func(projections.RecordedEvent) bool) (n int, err error) {
	for more := true; more && ctx.Err() == nil; {
		var p part
		if p, more, err = r.part(i, goes); err != nil {
			return n, err
		}
		if len(p.removals) > 0 {
			if _, err := node.Submit(ctx, r.log, r.logger, r.now, domain.CleanUp{Rule: r.rules[i].Why(limit), DataEvents: p.removals}); err != nil {
				return n, err
			}
			r.took(i, p.tally)
			n += len(p.removals)
		}
		r.from[i] = p.next
	}
	return n, ctx.Err()
}

// part is some data events in a row, as the log has them, that have to go, and the sequence to go on from.
type part struct {
	removals []domain.Removal
	tally
	next uint64
}

// part takes the next events of a rule; more is whether there may be others behind them.
func (r *ruleRemover) part(i int, goes func(projections.RecordedEvent) bool) (p part, more bool, err error) {
	p.next = r.from[i]
	v, done := r.state.View()
	defer done()
	list, err := v.RecordedFrom(p.next)
	for _, e := range list {
		if r.rules.Find(e.Profile, e.Device, e.Source) == i {
			if !goes(e) {
				return p, false, nil
			}
			p.removals = append(p.removals, domain.Removal{ID: e.ID, Revision: e.Seq})
			p.add(1, e.Size)
		}
		p.next = e.Seq + 1
	}
	return p, len(list) > 0, err
}

// took counts what was removed.
func (r *ruleRemover) took(i int, gone tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[i].add(-gone.count, -gone.bytes)
	r.removed[i].add(gone.count, gone.bytes)
}
