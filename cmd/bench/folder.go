package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ledge/bridge"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// fillStep is how many devices are submitted at once.
const fillStep = 1000

// onLog opens the log and the state of a folder for f.
func onLog(ctx context.Context, dir string, f func(*eventLog) error) (err error) {
	state, err := openState(dir, projections.Events)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	l, err := openLog(ctx, dir, state)
	if err != nil {
		return err
	}
	defer l.close()
	return f(l)
}

// fill makes a data folder with n devices, which have some labels more than usual.
func fill(ctx context.Context, dir string, n int, labels ...string) error {
	return onLog(ctx, dir, func(l *eventLog) error {
		l.labels = labels
		return l.addDevices(ctx, n)
	})
}

// addDevices adds n devices.
func (l *eventLog) addDevices(ctx context.Context, n int) error {
	for left := n; left > 0; left -= fillStep {
		if err := l.submit(ctx, l.devices(min(left, fillStep))...); err != nil {
			return fmt.Errorf("add %d devices: %w", n, err)
		}
	}
	return nil
}

// onNotifications opens the logs and the state of the notifications of a filled folder for f.
func onNotifications(ctx context.Context, dir string, f func(*eventLog) error) (err error) {
	notes, err := openState(dir, projections.Notifications)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.Close()) }()
	s, err := openStore(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	a, err := store.NewAppender(ctx, s.Notifications(), notes, store.AppenderOptions{})
	if err != nil {
		return err
	}
	defer a.Close()
	return f(&eventLog{store: s, appender: a})
}

// notify brings the notifications of a filled folder to where the bridge leaves them, with nobody subscribed.
func notify(ctx context.Context, dir string) error {
	return onNotifications(ctx, dir, func(l *eventLog) error {
		var waiting []domain.Request
		var group []domain.Raised
		for r, err := range l.store.Events().Read(ctx, 0, 0) {
			if err != nil {
				return err
			}
			if n, ok := bridge.Raise(r); ok {
				n.Status = domain.StatusProcessed
				group = append(group, domain.Raised{Notification: n, CorrelationID: r.CorrelationID})
			}
			if len(group) >= raisedTogether {
				waiting, group = append(waiting, request(domain.RaiseNotifications{Raised: group})), nil
			}
			if len(waiting) >= fillStep {
				if err := l.submit(ctx, waiting...); err != nil {
					return err
				}
				waiting = nil
			}
		}
		return l.submit(ctx, append(waiting, request(domain.RaiseNotifications{Raised: group}))...)
	})
}

// skipNotifications has a filled folder look as if all its changes had raised nothing and no device service waited for a callback. Else the
// server is busy with that for minutes after its start.
func skipNotifications(ctx context.Context, dir string) error {
	return onNotifications(ctx, dir, func(l *eventLog) error {
		last, _ := l.store.Events().Last()
		return l.submit(ctx, request(domain.RaiseNotifications{UpTo: last}), request(domain.RecordCallbacks{UpTo: last}))
	})
}

// raisedTogether is about how many notifications the bridge records in one event under load.
const raisedTogether = 100

// emptyState opens a projection of the event stream that has nothing yet; done closes and removes it.
func emptyState(dir string) (state *projections.DB, done func(), err error) {
	dir, err = os.MkdirTemp(dir, "state-*")
	if err != nil {
		return nil, nil, err
	}
	if state, err = openState(dir, projections.Events); err != nil {
		return nil, nil, err
	}
	return state, func() { state.Close(); os.RemoveAll(dir) }, nil
}

// copyLog copies the log of a data folder, which must be closed.
func copyLog(from, to string) error {
	return os.CopyFS(filepath.Join(to, "nats"), os.DirFS(filepath.Join(from, "nats")))
}
