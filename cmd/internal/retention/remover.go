// Package retention removes from the logs of a node what is too old or too much, and what clients ask to remove, and archives the log of
// changes. A [Remover] does all of it beside the services.
package retention

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node"
	"ledge/store/payloads"
)

// Options are the limits of the logs. 0 stands for no limit.
type Options struct {
	Rules                                                   config.Rules // of readings
	ReadingsMaxBytes, NotificationsMaxBytes, EventsMaxBytes config.Size
	ReadingsMaxAge, NotificationsMaxAge, EventsMaxAge       time.Duration
	ReserveBytes                                            int64 // disk space that an archive leaves free
	Paths                                                   datadir.Paths
	Payloads                                                *payloads.Files
	Logger                                                  *slog.Logger
	Now                                                     func() time.Time // the clock by which changes are archived
}

// Remover takes off the logs of a node what is too old or too much, and what clients ask to remove. Changes go to archives.
type Remover struct {
	node      *node.Node
	options   Options
	rules     *ruleRemover
	aging     *notificationAge
	collector *collector
	archiver  *archiver
}

// New returns a remover that does nothing before its workers run.
func New(n *node.Node, o Options) *Remover {
	return &Remover{
		node: n, options: o, rules: newRuleRemover(o.Rules, n), aging: newNotificationAge(o.NotificationsMaxAge, n),
		collector: newCollector(n, o.Payloads), archiver: newArchiver(o, n),
	}
}

// Workers returns the functions that do the work. Each runs until its context ends, and returns an error that ends the server.
func (r *Remover) Workers() []func(context.Context) error {
	list := []func(context.Context) error{r.archiver.run, r.rules.run, r.aging.run, r.collector.run}
	for _, b := range newBounds(r.node, r.options, r.collector) {
		list = append(list, b.run)
	}
	return append(list, newSweeper(r.node, &r.node.Notifications).run, newSweeper(r.node, &r.node.Readings).run)
}

// RemoveOldNotifications removes the notifications that are older than the limit now.
func (r *Remover) RemoveOldNotifications(ctx context.Context) { r.aging.sweep(ctx) }

// RuleUses returns what each rule of readings keeps and has removed. It is empty until that is counted.
func (r *Remover) RuleUses() []RuleUse { return r.rules.use() }

// ArchiveUse returns the size of the log of changes and of its archives.
func (r *Remover) ArchiveUse() (ArchiveUse, error) { return r.archiver.use() }

// Warnings returns what an operator has to look at: why the log of changes is not archived.
func (r *Remover) Warnings() []string { return r.archiver.warnings() }

// ArchiveUse is what the metrics show of the log of changes and its archives.
type ArchiveUse struct {
	LiveBytes     int64 `json:"liveBytes"`
	ArchivedBytes int64 `json:"archivedBytes"`
	Archives      int   `json:"archives"`
}

// RuleUse is what a rule of readings keeps and has removed since the start.
type RuleUse struct {
	Rule         string `json:"rule"`
	Kept         int64  `json:"keptEvents"`
	KeptBytes    int64  `json:"keptBytes"`
	Removed      int64  `json:"removedEvents"`
	RemovedBytes int64  `json:"removedBytes"`
}

// use is what each rule keeps and has removed; nothing until that is counted.
func (r *ruleRemover) use() []RuleUse {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]RuleUse, len(r.kept))
	for i, kept := range r.kept {
		list[i] = RuleUse{r.rules[i].String(), kept.count, kept.bytes, r.removed[i].count, r.removed[i].bytes}
	}
	return list
}

// use looks at the files.
func (a *archiver) use() (ArchiveUse, error) {
	st, err := a.log.Stats()
	archives := a.d.Store.Archives()
	bytes, aerr := archives.Bytes()
	list, lerr := archives.List()
	return ArchiveUse{st.Bytes, bytes, len(list)}, errors.Join(err, aerr, lerr)
}
