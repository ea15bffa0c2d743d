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
	ReadingsMaxAge, NotificationsMaxAge                     time.Duration
	ReserveBytes                                            int64 // disk space that an archive leaves free
	Paths                                                   datadir.Paths
	Payloads                                                *payloads.Files
	Logger                                                  *slog.Logger
	Now                                                     func() time.Time // the clock by which changes are archived
}

// Remover takes off the logs of a node what is too old or too much, and what clients ask to remove. Changes go to archives.
type Remover struct {
	sweeper   *sweeper
	collector *collector
	archiver  *archiver
	cleaners  []*cleaner
}

// New returns a remover that does nothing before its workers run.
func New(n *node.Node, o Options) *Remover {
	values := newCollector(n, o.Payloads)
	return &Remover{
		sweeper: newSweeper(n, o, values), collector: values, archiver: newArchiver(o, n),
		cleaners: []*cleaner{newCleaner(n, &n.Notifications), newCleaner(n, &n.Readings)},
	}
}

// Workers returns the functions that do the work. Each runs until its context ends, and returns an error that ends the server.
func (r *Remover) Workers() []func(context.Context) error {
	list := []func(context.Context) error{r.sweeper.run, r.archiver.run, r.collector.run}
	for _, c := range r.cleaners {
		list = append(list, c.run)
	}
	return list
}

// Sweep removes what is over a limit of notifications and readings now. The workers do so every 10 seconds.
func (r *Remover) Sweep(ctx context.Context) { r.sweeper.sweep(ctx) }

// SetLimits puts other limits of notifications and readings in force, from the next sweep on. The limits of changes stay.
func (r *Remover) SetLimits(o Options) { r.sweeper.wanted.Store(&o) }

// RuleUses returns what each rule of readings keeps and has removed. It is empty until that is counted.
func (r *Remover) RuleUses() []RuleUse { return r.sweeper.rules.Load().use() }

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

// use looks at the files.
func (a *archiver) use() (ArchiveUse, error) {
	st, err := a.log.Stats()
	archives := a.d.Store.Archives()
	bytes, aerr := archives.Bytes()
	list, lerr := archives.List()
	return ArchiveUse{st.Bytes, bytes, len(list)}, errors.Join(err, aerr, lerr)
}
