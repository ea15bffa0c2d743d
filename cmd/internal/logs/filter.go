package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"ledge/cmd/internal/node"
	"ledge/domain/eventlog"
	"ledge/domain/moment"
	"ledge/store"
)

// Filter chooses messages of the logs, and where the reading of them begins.
type Filter struct {
	eventlog.Filter
	Last    int    // only so many, the newest; -1 for all
	from    uint64 // first sequence of the log of changes
	Follows bool

	sinceText, untilText, device string // as given
	lastText                     int
	fromGiven, lastGiven         bool
}

// mostLast bounds -n: the places of so many messages are held in memory for each stream.
const mostLast = 1_000_000

// AddTo makes flags of a filter. After they are parsed, call Check.
func (f *Filter) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.sinceText, "since", "", "only what was recorded at this time or later: a time such as 2026-11-21T07:42:05Z or 2026-11-21, or how long ago, such as 2h or 7d")
	flags.StringVar(&f.untilText, "until", "", "only what was recorded before this time, written as for --since")
	flags.IntVarP(&f.lastText, "last", "n", 0, "only the newest so many of what the other flags choose; with -f so many from before")
	flags.StringVar(&f.Type, "type", "", "only events of this type, such as device.added or 'device.*'")
	flags.StringVar(&f.device, "device", "", "only changes of the device with this name, commands to it, and what was posted to it")
	flags.StringVar(&f.Entity, "entity", "", "only events of this kind of entity, such as device")
	flags.StringVar(&f.Name, "name", "", "only events of entities with this name, such as cam-1 or 'cam-*'")
	flags.StringVar(&f.Actor, "actor", "", "only what this actor did, such as user:anna, anna or 'anonymous@*'")
	flags.StringVar(&f.Subject, "subject", "", "only messages with this subject; * stands for one part and a final > for the rest, such as 'ledge.event.device.>'")
	flags.Uint64Var(&f.from, "from", 1, "first sequence of the event stream; other streams are then left out up to its time")
}

// Check reads the flags as of now.
func (f *Filter) Check(flags *pflag.FlagSet, now time.Time) (err error) {
	f.fromGiven, f.lastGiven, f.Last = flags.Changed("from"), flags.Changed("last"), -1
	if f.Since, err = moment.ParseTime(f.sinceText, now); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	if f.Until, err = moment.ParseTime(f.untilText, now); err != nil {
		return fmt.Errorf("--until: %w", err)
	}
	if f.device != "" && f.Entity+f.Name != "" {
		return errors.New("--device cannot be used with --entity or --name; use --device, or both others, of which the entity is device")
	}
	if f.device != "" {
		f.Entity, f.Name, f.Commands = "device", f.device, true
	}
	if err := f.Filter.Check("--"); err != nil {
		return err
	}
	switch {
	case f.lastGiven && (f.lastText < 0 || f.lastText > mostLast):
		return fmt.Errorf("-n: %d: use a number from 0 to %d", f.lastText, mostLast)
	case f.lastGiven && f.fromGiven:
		return errors.New("-n and --from cannot be used together; use one of them")
	case f.Follows && f.untilText != "":
		return errors.New("-f and --until cannot be used together; use one of them")
	}
	if f.lastGiven {
		f.Last = f.lastText
	}
	if f.Follows && !f.lastGiven && !f.fromGiven && f.sinceText == "" {
		f.Last = 0
	}
	return nil
}

// matches reports whether a message is chosen, but for -n.
func (f *Filter) matches(m store.Message) bool {
	return f.Matches(node.EventOf(eventlog.LogOf(m.Subject), m))
}

// ends reports whether nothing is chosen of what was stored at the time of m or later.
func (f *Filter) ends(m store.Message) bool { return f.Ends(m.At) }

// Starts returns the sequence at which each log begins, as the filter chooses. A log without anything that is chosen begins after its end.
func (f *Filter) Starts(ctx context.Context, logs []*store.Log) ([]uint64, error) {
	starts := make([]uint64, len(logs))
	for i, l := range logs {
		last, _ := l.Last()
		starts[i] = last + 1
		if !f.Reads(eventlog.Names[i]) || f.Last == 0 {
			continue
		}
		starts[i] = 1
		if !f.Since.IsZero() {
			var err error
			if starts[i], err = l.Begin(ctx, f.Since); err != nil {
				return nil, err
			}
		}
	}
	if f.Last <= 0 {
		return starts, nil
	}
	return f.newest(ctx, logs, starts)
}

// placed is the place of a message that is chosen.
type placed struct {
	log int
	seq uint64
	at  time.Time
}

// newest moves the starts on, so that only the newest f.last messages that are chosen remain.
func (f *Filter) newest(ctx context.Context, logs []*store.Log, starts []uint64) ([]uint64, error) {
	var all []placed
	for i, l := range logs {
		list, err := f.newestOf(ctx, i, l, starts[i])
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		last, _ := l.Last()
		starts[i] = last + 1
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.log, b.log)) })
	for _, one := range all[max(0, len(all)-f.Last):] {
		starts[one.log] = min(starts[one.log], one.seq)
	}
	return starts, nil
}

// firstLook is how many messages from its end newestOf reads of a log at first. It reads ever larger parts until it has
// found enough, so that little is read of a long log for a few messages.
const firstLook = 256

func (f *Filter) newestOf(ctx context.Context, i int, l *store.Log, from uint64) (list []placed, err error) {
	end, _ := l.Last()
	for look := uint64(max(firstLook, f.Last)); end >= from && len(list) < f.Last; look *= 8 {
		begin := from
		if end-from >= look {
			begin = end - look + 1
		}
		var part []placed
		for m, err := range l.ReadRaw(ctx, begin, end) {
			if err != nil {
				return nil, err
			}
			if m.Seq <= end && f.matches(m) {
				part = append(part, placed{i, m.Seq, m.Stamp().At})
			}
		}
		list = append(part[max(0, len(part)-(f.Last-len(list))):], list...)
		end = begin - 1
	}
	return list, nil
}
