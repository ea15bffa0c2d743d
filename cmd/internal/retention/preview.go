package retention

import (
	"context"
	"time"
)

// Going is the part of a log that a limit would remove now.
type Going struct {
	Limit  string // the setting, or the rule of readings-retention
	Events int64  // on the log, at most
	Bytes  int64
}

// Preview returns the parts that limits of notifications and readings would remove now. It reads the counters of the readings, and no
// reading.
func (r *Remover) Preview(ctx context.Context, o Options) (list []Going, err error) {
	notes, readings := r.sweeper.notes, r.sweeper.readings
	byAge := func(limit string, s stream, age time.Duration) {
		if age == 0 || err != nil {
			return
		}
		var n int64
		if n, err = s.countOlder(ctx, age); n > 0 {
			list = append(list, Going{Limit: limit, Events: n})
		}
	}
	byBytes := func(limit string, s stream, most int64) {
		if most == 0 || err != nil {
			return
		}
		var n int64
		if _, n, err = s.size(); n > most {
			list = append(list, Going{Limit: limit, Bytes: n - most})
		}
	}
	byAge("notifications-max-age", notes, o.NotificationsMaxAge)
	byBytes("notifications-max-bytes", notes, int64(o.NotificationsMaxBytes))
	byAge("readings-max-age", readings, o.ReadingsMaxAge)
	byBytes("readings-max-bytes", readings, int64(o.ReadingsMaxBytes))
	if err != nil || len(o.Rules) == 0 {
		return list, err
	}
	rules := newRules(o.Rules, readings)
	kept, err := rules.count()
	for i, one := range kept {
		g := Going{Limit: "readings-retention, " + o.Rules[i].String()}
		if rule := o.Rules[i]; rule.Age > 0 && err == nil {
			g.Events, err = readings.countOlder(ctx, rule.Age)
			g.Events = min(g.Events, one.count)
		}
		if rule := o.Rules[i]; rule.Count > 0 {
			g.Events = max(g.Events, one.count-rule.Count)
		}
		if rule := o.Rules[i]; rule.Bytes > 0 {
			g.Bytes = max(0, one.bytes-int64(rule.Bytes))
		}
		if g.Events > 0 || g.Bytes > 0 {
			list = append(list, g)
		}
	}
	return list, err
}

// countOlder returns how many events of the log are older than an age.
func (s stream) countOlder(ctx context.Context, age time.Duration) (int64, error) {
	end, err := s.Log.OlderThan(ctx, s.node.Now().Add(-age))
	if first := s.Log.First(); err == nil && end > first {
		return int64(end - first), nil
	}
	return 0, err
}
