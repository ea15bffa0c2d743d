package console

import (
	"cmp"
	"fmt"
	"slices"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/noticed"
)

const (
	// outcomeLook is how many transmissions are read for each channel of a subscription, to say how it does. For all channels of one
	// subscription it is at most mostOutcomeLook.
	outcomeLook, mostOutcomeLook = 5, 20
)

// outcome is what came of the latest messages to a channel: the last Failed of Of messages have failed.
type outcome struct {
	Failed, Of int
	// GivenUp is how many of the failed ones are not tried again.
	GivenUp int
	// Why is the answer to the last try, as the user may see it.
	Why string
	// Nobody says that the last message was published, and that no subscriber got it.
	Nobody bool
	// Words say what came of the messages, End whether the failed ones are tried again; "" without messages.
	Words, End string
}

// outcomes finds what came of the latest transmissions of a subscription, by the target of their channel. A change of the subscription
// begins anew.
func outcomes(sub domain.Subscription, latest []domain.Transmission, role domain.Role) map[string]outcome {
	tried := slices.DeleteFunc(slices.Clone(latest), func(t domain.Transmission) bool {
		return len(t.Records) == 0 || t.Created < sub.Modified
	})
	slices.SortStableFunc(tried, func(a, b domain.Transmission) int { return cmp.Compare(lastTry(b).Sent, lastTry(a).Sent) })
	all, over := map[string]outcome{}, map[string]bool{}
	for _, t := range tried {
		target := t.Channel.Target()
		o := all[target]
		if o.Of++; o.Of == 1 {
			o.Why, o.Nobody = lastTry(t).Response, lastTry(t).ReachedNobody()
			if !role.May(domain.MayChange) {
				o.Why = domain.HiddenAnswer
			}
		}
		switch {
		case over[target]:
		case t.Status == domain.StatusFailed:
			o.Failed, o.GivenUp = o.Failed+1, o.GivenUp+1
		case t.IsOpen():
			o.Failed++
		default:
			over[target] = true
		}
		all[target] = o
	}
	for target, o := range all {
		o.Words, o.End = wordsOf(o), endOf(o)
		all[target] = o
	}
	return all
}

func wordsOf(o outcome) string {
	switch {
	case o.Nobody:
		return "The last message was published, and no subscriber got it"
	case o.Failed == 0 && o.Of == 1:
		return "The last message was sent"
	case o.Failed == 0:
		return fmt.Sprintf("The last %d messages were sent", o.Of)
	case o.Failed == 1:
		return "The last message failed"
	}
	return fmt.Sprintf("The last %d messages failed", o.Failed)
}

func endOf(o outcome) string {
	switch o.GivenUp {
	case 0:
		return "tried again later"
	case o.Failed:
		return "given up"
	}
	return fmt.Sprintf("%d given up", o.GivenUp)
}

// lastTry is the last try of a transmission that was tried.
func lastTry(t domain.Transmission) domain.TransmissionRecord { return t.Records[len(t.Records)-1] }

// outcomeLimit is how many of the latest transmissions of a subscription its outcomes are of, in the list and on its page.
func outcomeLimit(sub domain.Subscription) int {
	return min(outcomeLook*len(sub.Channels), mostOutcomeLook)
}

// worst reads the latest transmissions of a subscription. It returns the outcome of the channel with the most failures.
func worst(lists domain.Lists, sub domain.Subscription, role domain.Role) (w outcome, err error) {
	own := domain.Filter{Index: domain.IndexSubscription, Value: sub.Name}
	latest, _, err := lists.Transmissions(domain.Page{Limit: outcomeLimit(sub)}, own)
	for _, o := range outcomes(sub, latest, role) {
		if cmp.Or(cmp.Compare(o.Failed, w.Failed), cmp.Compare(o.GivenUp, w.GivenUp), cmp.Compare(o.Of, w.Of)) > 0 {
			w = o
		}
	}
	return w, err
}

// sent is a transmission in the list of a subscription.
type sent struct {
	domain.Transmission
	Title string // of its notification
	Cause uint64 // the sequence of the change that raised the notification; 0 for none
	Why   string // the answer to the last try, as the user may see it
	Test  bool   // it is a test from the console

	Nobody bool // the last try reached no subscriber
}

// sentOf adds the titles of notifications to transmissions.
func sentOf(state domain.State, latest []domain.Transmission, role domain.Role) []sent {
	list := make([]sent, len(latest))
	for i, t := range latest {
		var n domain.Notification
		domain.GetWithin(state.Notifications, t.NotificationID, mostTitled, &n)
		n.ID = t.NotificationID
		list[i] = sent{Transmission: t, Title: titleOf(n), Cause: n.Cause, Test: noticed.IsTest(n)}
		if t.Entity != "" {
			list[i].Title = t.Entity + ": " + list[i].Title
		}
		if len(t.Records) > 0 {
			list[i].Why, list[i].Nobody = lastTry(t).Response, lastTry(t).ReachedNobody()
			if !role.May(domain.MayChange) {
				list[i].Why = domain.HiddenAnswer
			}
		}
	}
	return list
}

const (
	// mostTitle bounds the title of a notification, in bytes.
	mostTitle = 80
	// mostTitled bounds the notifications that are read for their titles.
	mostTitled = 64 << 10
)

// titleOf is what a list calls a notification: its description, or else the begin of its content.
func titleOf(n domain.Notification) string {
	title := cmp.Or(n.Description, n.Content, n.Category, "notification "+n.ID)
	if len(title) > mostTitle {
		title = web.CutText(title, mostTitle)
	}
	return title
}
