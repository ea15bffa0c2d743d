package channels

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ledge/bridge/zeromq"
	"ledge/domain"
)

// Explain explains the delivery of a notification, or of the next one, to a subscription.
func (cs *Channels) Explain(subscription, notification string) (*Explanation, error) {
	s, ok := cs.subscription(subscription)
	if !ok {
		return nil, domain.Errorf(domain.NotFound, "there is no subscription %q; GET /api/v2/subscription/all of the notifications service lists them", subscription)
	}
	w := &Explanation{Subscription: subscription, Notification: notification}
	locked := s.AdminState != domain.StateUnlocked
	if !locked {
		w.add("locked", false, "the subscription is UNLOCKED")
	} else {
		w.add("locked", notification == "", "the subscription is %s; set its adminState to UNLOCKED", s.AdminState)
	}
	if notification == "" {
		w.add("category", len(s.Categories)+len(s.Labels) == 0, "it asks for the categories %s and the labels %s", namesIn(s.Categories), namesIn(s.Labels))
		cs.whyChannels(w, s.Channels)
		if err := whyLast(cs, w, s.Name); err != nil {
			return nil, err
		}
	} else if err := cs.whyNotification(w, s, notification); err != nil {
		return nil, err
	}
	cs.whyReplay(w, s)
	w.Arrives = !slices.ContainsFunc(w.Findings, func(f Finding) bool { return f.Stops })
	return w, nil
}

func (cs *Channels) subscription(name string) (domain.Subscription, bool) {
	state, done := cs.Node.Changes.State.State()
	defer done()
	return state.Subscriptions.Get(name)
}

// mostTries is more than a notification has transmissions to one subscription.
const mostTries = 1000

// delivered returns a notification with its transmissions to a subscription.
func (cs *Channels) delivered(subscription, id string) (n domain.Notification, list []domain.Transmission, err error) {
	v, done := cs.ViewFlushed()
	defer done()
	n, ok := v.State.Notifications.Get(id)
	if !ok {
		return n, nil, domain.Errorf(domain.NotFound, "there is no notification %q; it never was, or it was removed: see `ledge log --subject 'ledge.notification.*.%s.>'`", id, id)
	}
	list, _, err = v.Lists.Transmissions(domain.Page{Limit: mostTries},
		domain.Filter{Index: domain.IndexNotification, Value: id}, domain.Filter{Index: domain.IndexSubscription, Value: subscription})
	return n, list, err
}

// newestTries is how many of the newest transmissions whyLast looks at.
const newestTries = 100

// whyLast adds the newest failure of the newest transmissions to a subscription.
func whyLast(cs *Channels, w *Explanation, subscription string) error {
	v, done := cs.ViewFlushed()
	defer done()
	filter := domain.Filter{Index: domain.IndexSubscription, Value: subscription}
	list, _, err := v.Lists.Transmissions(domain.Page{Limit: newestTries}, filter)
	if err != nil {
		return err
	}
	var last domain.TransmissionRecord
	var at domain.Channel
	for _, t := range list {
		for _, r := range t.Records {
			if r.Status != domain.StatusSent && r.Sent > last.Sent {
				last, at = r, t.Channel
			}
		}
	}
	switch {
	case last.Sent > 0:
		const text = "the last failure, on %s at %s: %s: %s"
		w.add("transmission", false, text, date(last.Sent), channelName(at), last.Status, firstOf(last.Response))
	case len(list) > 0:
		w.add("transmission", false, "none of the newest %d transmissions has failed", len(list))
	}
	return nil
}

func (cs *Channels) whyNotification(w *Explanation, s domain.Subscription, id string) error {
	n, list, err := cs.delivered(s.Name, id)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		w.add("category", false, "it matched when it was delivered, on %d channels", len(list))
		for _, t := range list {
			cs.whyTransmission(w, t)
		}
		return nil
	}
	if n.Status == domain.StatusNew {
		w.add("queue", true, "it is NEW: it is not delivered yet")
		return nil
	}
	w.whyNoMatch(s, n)
	return nil
}

// whyNoMatch compares a subscription as it is with a notification that it did not get.
func (w *Explanation) whyNoMatch(s domain.Subscription, n domain.Notification) {
	unlocked := s
	unlocked.AdminState = domain.StateUnlocked
	switch {
	case !unlocked.Matches(n):
		category := n.Category == "" || slices.Contains(s.Categories, n.Category)
		if n.Category != "" {
			w.add("category", !category, "the notification has the category %q; the subscription asks for %s", n.Category, namesIn(s.Categories))
		}
		lacking := slices.DeleteFunc(slices.Clone(n.Labels), func(l string) bool { return slices.Contains(s.Labels, l) })
		if len(n.Labels) > 0 || category {
			w.add("label", len(lacking) > 0 || category, "the notification has the labels %s; the subscription asks for %s", namesIn(n.Labels), namesIn(s.Labels))
		}
	case n.Created < s.Modified:
		w.add("category", true, "it did not match on %s; the subscription changed after that, on %s, and matches now", date(n.Created), date(s.Modified))
	default:
		w.add("locked", true, "it matches now and did not then: the subscription was locked, or the notification was delivered before the subscription was added")
	}
}

// whyTransmission tells what came of one channel.
func (cs *Channels) whyTransmission(w *Explanation, t domain.Transmission) {
	name := channelName(t.Channel)
	text := fmt.Sprintf("%s: %s after %d tries", name, t.Status, len(t.Records))
	if n := len(t.Records); n > 0 {
		last := t.Records[n-1]
		text += fmt.Sprintf("; the last, on %s: %s: %s", date(last.Sent), last.Status, firstOf(last.Response))
	}
	if t.IsOpen() {
		text += "; the next is due on " + date(t.Next)
	}
	w.add("transmission", t.Status != domain.StatusSent, "%s", text)
	if t.Status != domain.StatusSent {
		cs.whyChannels(w, []domain.Channel{t.Channel})
	} else if t.Channel.Type == domain.ChannelZeroMQ {
		unheard := strings.HasPrefix(t.Records[len(t.Records)-1].Response, "published to 0 ")
		if unheard {
			w.add("topic", true, "%s: nobody with that topic was connected; ZeroMQ keeps nothing for later", name)
		}
	}
}

// whyChannels tells how the endpoint or socket of each channel is now.
func (cs *Channels) whyChannels(w *Explanation, channels []domain.Channel) {
	states := map[string]domain.EndpointState{}
	for _, e := range cs.Delivery.Endpoints() {
		states[e.Target] = e
	}
	for _, ch := range channels {
		if ch.Type == domain.ChannelZeroMQ {
			cs.whySocket(w, ch)
		}
		e, ok := states[ch.Target()]
		if !ok {
			if ch.Type != domain.ChannelZeroMQ {
				w.add("endpoint", false, "%s: nothing waits for it", channelName(ch))
			}
			continue
		}
		now := time.Now().UnixMilli()
		switch {
		case e.PausedUntil > now:
			w.add("endpoint", true, "%s: it failed %d times in a row and is left alone until %s", channelName(ch), e.Failures, date(e.PausedUntil))
		case e.Failures > 0:
			w.add("endpoint", true, "%s: it failed %d times in a row; the next try is not held back", channelName(ch), e.Failures)
		default:
			w.add("endpoint", false, "%s: it works", channelName(ch))
		}
		if e.Waiting > 0 || e.UnderWay > 0 {
			w.add("queue", false, "%s: %d transmissions wait before the newest, %d are under way", channelName(ch), e.Waiting, e.UnderWay)
		}
	}
}

// whySocket tells who listens at the socket of a ZeroMQ channel.
func (cs *Channels) whySocket(w *Explanation, ch domain.Channel) {
	a, err := cs.Sockets.ListenersOf(ch.Host, ch.Port, topicsShown)
	name := channelName(ch)
	if err != nil {
		w.add("port", true, "%s: the socket is not bound: %v", name, err)
		return
	}
	w.add("port", a.Subscribers == 0, "%s: %d subscribers are connected", name, a.Subscribers)
	if a.Subscribers == 0 {
		return
	}
	matching := 0
	var topics []string
	for _, t := range a.Topics {
		topics = append(topics, fmt.Sprintf("%q", shownTopic(t.Topic)))
		if strings.HasPrefix(ch.Topic, t.Topic) {
			matching = max(matching, t.Subscribers)
		}
	}
	w.add("topic", matching == 0 && a.MoreTopics == 0, "%s: the channel's topic is %q; subscribers ask for %s", name, ch.Topic, orNothing(topics))
	w.whyQueue(name, a)
}

func (w *Explanation) whyQueue(name string, a zeromq.Listeners) {
	if a.QueuedMessages > 0 || a.Drops > 0 {
		w.add("queue", false, "%s: %d messages wait for its subscribers, and %d were dropped since it was bound", name, a.QueuedMessages, a.Drops)
	}
}

// whyReplay tells from which sequence a replay continues.
func (cs *Channels) whyReplay(w *Explanation, s domain.Subscription) {
	if !slices.ContainsFunc(s.Channels, func(ch domain.Channel) bool { return ch.Type == domain.ChannelZeroMQ }) {
		w.add("replay", false, "the subscription has no ZeroMQ channel; what failed on other channels is not sent by a replay")
		return
	}
	c, err := cs.NewReplays().Cursor(s.Name)
	switch {
	case err != nil:
		w.add("replay", false, "how far it got is not known: %v", err)
	case c.Last == 0:
		w.add("replay", false, "nothing was delivered to it yet")
	default:
		w.add("replay", false, "its last delivery is at sequence %d, on %s; POST /api/v2/subscription/name/%s/replay sends again what is on record", c.Last, date(c.Sent), s.Name)
	}
}

// channelName names a channel without its secrets.
func channelName(ch domain.Channel) string {
	if ch.Host == "" {
		return ch.Type
	}
	return fmt.Sprintf("%s %s:%d", ch.Type, ch.Host, ch.Port)
}

func namesIn(names []string) string { return orNothing(slices.Clone(names)) }

func orNothing(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// firstOf is the first line of a response, cut.
func firstOf(response string) string {
	line, _, _ := strings.Cut(response, "\n")
	const most = 200
	return strings.ToValidUTF8(line[:min(len(line), most)], "")
}

// date is a time in milliseconds since the Unix epoch, for people.
func date(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
