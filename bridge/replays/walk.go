package replays

import (
	"context"
	"slices"

	"ledge/domain"
)

// walk is one replay under way.
type walk struct {
	*Replays
	domain.Replay
	channels []domain.Channel
	to       uint64 // the last sequence of the walk
	most     int
}

// run sends what is on record from w.From to w.to, until it has sent enough or its time is over.
func (w *walk) run(ctx context.Context) error {
	reading, stop := context.WithTimeout(ctx, w.Time)
	defer stop()
	for r, err := range w.Past.Read(ctx, w.From, w.to) {
		if err == nil {
			err = w.event(ctx, r.Event)
		}
		if err != nil {
			w.More = true
			return err
		}
		w.Last = r.Seq
		if w.More = r.Seq < w.to; w.Count >= w.most || reading.Err() != nil {
			return nil
		}
	}
	w.Last, w.More = max(w.Last, w.to), false // retention may have removed the rest
	return nil
}

// event sends what one event has for the subscription.
func (w *walk) event(ctx context.Context, e domain.Event) error {
	switch e := e.(type) {
	case domain.NotificationsRaised:
		for _, r := range e.Raised {
			if err := w.matched(ctx, r); err != nil {
				return err
			}
		}
	case domain.NotificationProcessed:
		return w.matched(ctx, domain.Raised{Notification: e.Notification, Transmissions: e.Transmissions})
	case domain.TransmissionTried:
		if err := w.tried(ctx, e.Transmission); err != nil || e.Escalated == nil {
			return err
		}
		return w.matched(ctx, *e.Escalated)
	}
	return nil
}

// matched sends a notification where it matched the subscription, but on channels where its outcome comes later in the
// walk. What is under way is sent all the same: it may have gone out before who wants the replay was there. One event has all
// transmissions of a subscription, and the notification may be in several.
func (w *walk) matched(ctx context.Context, r domain.Raised) error {
	if !slices.ContainsFunc(r.Transmissions, func(t domain.Transmission) bool { return t.SubscriptionName == w.Subscription }) {
		return nil
	}
	var later []domain.Transmission
	err := domain.Try(func() {
		look, done := w.Look()
		defer done()
		later = slices.DeleteFunc(slices.Clone(r.Transmissions), func(t domain.Transmission) bool {
			now, _ := look.State.Transmissions.Get(t.ID)
			return t.SubscriptionName != w.Subscription || !t.IsOpen() || now.IsOpen() || domain.Revision(look.State.Transmissions, t.ID) > w.to
		})
	})
	if err != nil {
		return err
	}
	channels := slices.DeleteFunc(slices.Clone(w.channels), func(c domain.Channel) bool {
		return slices.ContainsFunc(later, func(t domain.Transmission) bool { return t.Channel.Equal(c) })
	})
	return w.send(ctx, r.Notification.ID, channels)
}

// tried sends what has its outcome with this try.
func (w *walk) tried(ctx context.Context, t domain.Transmission) error {
	if t.IsOpen() || t.SubscriptionName != w.Subscription || !slices.ContainsFunc(w.channels, t.Channel.Equal) {
		return nil
	}
	return w.send(ctx, t.NotificationID, []domain.Channel{t.Channel})
}

// send publishes a notification on channels, unless it was removed.
func (w *walk) send(ctx context.Context, id string, channels []domain.Channel) error {
	var n domain.Notification
	var ok bool
	err := domain.Try(func() {
		look, done := w.Look()
		defer done()
		n, ok = look.State.Notifications.Get(id)
	})
	if err != nil {
		return err
	}
	if !ok || len(channels) == 0 {
		return nil
	}
	for _, c := range channels {
		_, lost, err := w.Sockets.PublishPaced(ctx, c, n.Content, w.Wait)
		w.Dropped += lost
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.Dropped++
			w.Logger.Warn("notification not replayed", "notification", id, "subscription", w.Subscription, "error", err)
		}
	}
	w.Count++
	return nil
}
