package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"ledge/domain"
)

// mailing has e-mail channels that take some 260 KB of an event, so that four of it make a part.
func mailing(name string) domain.Subscription {
	c := domain.Channel{Type: domain.ChannelEmail}
	for i := range domain.MaxRecipients {
		c.Recipients = append(c.Recipients, fmt.Sprint("r", i, strings.Repeat("a", 50), "@", strings.Repeat("b", 180), ".example"))
	}
	return subscription(name, slices.Repeat([]domain.Channel{c}, 16)...)
}

// mailings are names of subscriptions, in order.
func (n *node) mailings(count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf("mail-%02d", i))
		n.do(domain.AddSubscription{Subscription: mailing(names[i])})
	}
	return names
}

// recorded returns the subscriptions whose transmissions the events have, each as often as it has them, and how many events.
func (n *node) recorded(id string) (names []string, events int) {
	n.tb.Helper()
	for r, err := range n.store.Notifications().Read(n.tb.Context(), 1, 1<<62) {
		if err != nil {
			n.tb.Fatal(err)
		}
		var ts []domain.Transmission
		switch e := r.Event.(type) {
		case domain.NotificationsRaised:
			for _, one := range e.Raised {
				if one.Notification.ID == id {
					ts, events = one.Transmissions, events+1
				}
			}
		case domain.NotificationProcessed:
			if e.Notification.ID == id {
				ts, events = e.Transmissions, events+1
			}
		}
		for _, t := range ts {
			names = append(names, t.SubscriptionName)
		}
	}
	slices.Sort(names)
	return names, events
}

// whole waits until all parts of the last notification are on record, and returns it.
func (n *node) whole(posted bool) (last domain.Notification) {
	n.tb.Helper()
	n.until("the last part", func(_ domain.State, _ domain.Lists) bool {
		view, done := n.notes.View()
		defer done()
		list, _, err := view.Notifications(domain.Page{Limit: 100})
		for _, l := range list {
			if (l.Cause == 0) == posted && l.Routed() {
				last = l
				return err == nil
			}
		}
		return false
	})
	return last
}

// isParted holds that each of the subscriptions has its 16 transmissions once.
func isParted(t *testing.T, n *node, note domain.Notification, names []string) {
	t.Helper()
	var want []string
	for _, name := range names {
		want = append(want, slices.Repeat([]string{name}, 16)...)
	}
	got, events := n.recorded(note.ID)
	if !slices.Equal(got, want) || events < 3 {
		t.Errorf("%d events with %d transmissions to %v, want %d to %v", events, len(got), slices.Compact(got), len(want), names)
	}
	if !slices.Equal(note.Matched, names) || note.Open != len(want) || note.Status != domain.StatusNew {
		t.Errorf("it is %s, has %d open and matched %v", note.Status, note.Open, note.Matched)
	}
}

// A crash between two parts repeats none of those on record and loses none of the others; what comes after it waits for them.
func TestCrashBetweenParts(t *testing.T) {
	for _, posted := range []bool{false, true} {
		for _, stopAt := range []int64{1, 2, 3} {
			t.Run(fmt.Sprintf("posted %v, after %d", posted, stopAt), func(t *testing.T) {
				n := mustNode(t)
				names := n.mailings(11)
				var parts atomic.Int64
				full := make(chan struct{}, 100)
				n.refusal = func(c domain.Command) error {
					if p, ok := c.(domain.ProcessNotification); ok && len(p.Transmissions) > 0 && parts.Add(1) > stopAt {
						full <- struct{}{}
						return domain.Errorf(domain.Full, "the disk is full")
					}
					return nil
				}
				n.startEngine()
				if posted {
					n.submit(n.notifications, domain.AddNotification{Notification: domain.Notification{
						ID: uuid.NewString(), Category: domain.DeviceChanged, Content: "{}", Sender: "x", Severity: domain.SeverityNormal, Status: domain.StatusNew,
					}})
				} else {
					n.do(domain.AddDevice{Device: device("cam")})
				}
				if stopAt < 3 {
					<-full
				} else {
					n.whole(posted)
				}
				n.stopEngine()
				n.refusal = nil
				n.startEngine()
				isParted(t, n, n.whole(posted), names)
				n.do(domain.AddDevice{Device: device("next")})
				n.until("the next one", func(s domain.State, _ domain.Lists) bool {
					done, _ := s.Cursors.Get(domain.CursorDeviceChanges)
					last, _ := n.state.Checkpoint()
					return done == last
				})
			})
		}
	}
}

// A subscription whose part the log refuses for good is left out, logged by its name and counted; all others are on record.
func TestOnePartRefusedForGood(t *testing.T) {
	for _, tt := range []struct {
		subscriptions int
		posted        bool
	}{{2, false}, {2, true}, {9, false}, {9, true}} {
		t.Run(fmt.Sprintf("one of %d, posted %v", tt.subscriptions, tt.posted), func(t *testing.T) {
			n := mustNode(t)
			names := n.mailings(tt.subscriptions)
			const bad = "mail-01"
			names = slices.DeleteFunc(names, func(name string) bool { return name == bad })
			is := func(one domain.Transmission) bool { return one.SubscriptionName == bad }
			n.refusal = func(c domain.Command) error {
				var ts []domain.Transmission
				switch c := c.(type) {
				case domain.ProcessNotification:
					ts = c.Transmissions
				case domain.RaiseNotifications:
					ts = c.Raised[0].Transmissions
				}
				if slices.ContainsFunc(ts, is) {
					return domain.Errorf(domain.TooLarge, "%s", strings.Repeat("too large", 1000))
				}
				return nil
			}
			var text strings.Builder
			n.logTo(&text)
			n.startEngine()
			if tt.posted {
				n.submit(n.notifications, domain.AddNotification{Notification: domain.Notification{
					ID: uuid.NewString(), Category: domain.DeviceChanged, Content: "{}", Sender: "x", Severity: domain.SeverityNormal, Status: domain.StatusNew,
				}})
			} else {
				n.do(domain.AddDevice{Device: device("cam")})
			}
			note := n.whole(tt.posted)
			got, _ := n.recorded(note.ID)
			if want := 16 * len(names); len(got) != want || note.Open != want || !slices.Equal(slices.Compact(got), names) {
				t.Errorf("%d transmissions, %d open, to %v, want %d", len(got), note.Open, slices.Compact(got), want)
			}
			if r := n.engine.Refused(); r != 1 {
				t.Errorf("%d are counted as refused, want 1", r)
			}
			n.stopEngine()
			if log := text.String(); strings.Count(log, "subscription="+bad) != 1 || strings.Contains(log, "bbbbbbbb") || len(log) > 8<<10 {
				t.Errorf("%d bytes of log: %.1000s", len(log), log)
			}
		})
	}
}
