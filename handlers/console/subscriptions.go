package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
	"ledge/handlers/noticed"
)

// subscriptionPages are the pages of subscriptions.
type subscriptionPages struct {
	tags
	system  System
	network Network
	changes Changes
}

func (s subscriptionPages) Routes() []web.Route {
	return []web.Route{
		web.Get("/subscriptions", domain.MayRead, s.Share(s.subscriptions)),
		web.Get("/subscriptions/:name", domain.MayRead, s.Share(s.subscription)),
		web.Post("/subscriptions/:name/state", domain.MayChange, s.setSubscriptionState),
		web.Post("/subscriptions/:name/delete", domain.MayChange, s.deleteSubscription),
		web.Post("/subscriptions/:name/test", domain.MayChange, s.testSubscription),
		web.Post("/subscriptions/:name/try", domain.MayChange, s.trySubscription),
		web.Post("/subscriptions/:name/resend", domain.MayChange, s.resendFailed),
		web.Post("/subscriptions/:name/replay", domain.MayChange, s.replaySubscription),
	}
}

type subscriptionsData struct {
	Subscriptions             []subscriptionRow
	Pager                     web.Pager
	Category, Label, Receiver string

	CategoriesInUse, LabelsInUse []web.Option
}

// subscriptionRow is a subscription in the list, with what came of its latest messages.
type subscriptionRow struct {
	domain.Subscription
	Outcome outcome
}

func rowOfSubscription(sub *domain.Subscription) domain.Subscription {
	row := web.CutRow(sub)
	if left := len(sub.Channels) - len(row.Channels); left > 0 {
		row.Channels = append(row.Channels, domain.Channel{Type: fmt.Sprintf("and %d more", left)})
	}
	return row
}

func (s subscriptionPages) subscriptionRows(c *gin.Context, subs []domain.Subscription) ([]subscriptionRow, error) {
	u, _ := web.User(c)
	notes, done := s.notes()
	defer done()
	rows := make([]subscriptionRow, len(subs))
	for i, sub := range subs {
		outcome, err := worst(notes.Lists, sub, u.Role)
		if err != nil {
			return nil, err
		}
		rows[i] = subscriptionRow{sub, outcome}
	}
	return rows, nil
}

func (s subscriptionPages) subscriptions(c *gin.Context) error {
	list, total, err := web.List(s.Memory(c), s.state, entities.Subscriptions, domain.Page{Offset: web.Offset(c), Limit: web.PageRows},
		web.IndexFilters(c, domain.IndexCategory, domain.IndexLabel, domain.IndexReceiver), rowOfSubscription)
	if err != nil {
		return s.FailList(c, err)
	}
	rows, err := s.subscriptionRows(c, list)
	if err != nil {
		return err
	}
	categories, labels, err := s.tagsInUse(c)
	if err != nil {
		return err
	}
	return s.Show(c, http.StatusOK, "subscriptions", web.Page{Title: "Subscriptions", Live: "subscriptions&transmissions", Data: subscriptionsData{
		rows, web.PagerOf(c, total, len(list)),
		web.FilterText(c, domain.IndexCategory), web.FilterText(c, domain.IndexLabel), web.FilterText(c, domain.IndexReceiver), categories, labels,
	}})
}

// channelView is a channel with what is known about its delivery.
type channelView struct {
	domain.Channel
	Address string // to connect to
	// Sockets are the bound sockets of a ZeroMQ channel.
	Sockets  []SocketState
	Delivery *domain.EndpointState // nil if nothing waits and nothing has failed
	Why      string                // what the endpoint answered last, if it fails
	Outcome  outcome               // of the latest messages
	Snippets []snippet
}

type subscriptionData struct {
	Subscription domain.Subscription
	Channels     []channelView
	// Also are other subscriptions that a test is sent to.
	Also   []string
	Recent []sent
	// Unseen says which of its categories and labels no notification has had.
	Unseen    []string
	Retries   string // how often a message is sent again, and when
	MayReplay bool   // a replay has a channel: it sends over ZeroMQ only
	Matched   bool   // a notification has matched, tests aside
}

// unseen says which categories and labels of a subscription no notification has had, and which ones were seen.
func unseen(view domain.View, sub domain.Subscription) (notes []string) {
	note := func(what, all string, unseen []noticed.Unseen, seen []string) {
		for _, one := range unseen {
			text := fmt.Sprintf("No notification has had the %s %s; %s seen: %s.", what, one.Value, all, strings.Join(seen, ", "))
			if one.Meant != "" {
				text += fmt.Sprintf(" Did you mean %s?", one.Meant)
			}
			notes = append(notes, text)
		}
	}
	list, seen := noticed.UnseenCategories(view, sub.Categories)
	note("category", "categories", list, seen)
	list, seen = noticed.UnseenLabels(view, sub.Labels)
	note("label", "labels", list, seen)
	return notes
}

func (s subscriptionPages) subscription(c *gin.Context) error {
	d, err := s.readSubscription(c, c.Param("name"))
	if err != nil {
		return err
	}
	k := web.ForPage()
	d.Subscription = web.Cut(k, &d.Subscription)
	if err := s.readOutcomes(c, &d); err != nil {
		return err
	}
	d.Retries = s.retriesOf(d.Subscription)
	return s.Show(c, http.StatusOK, "subscription", web.Page{
		Title: "Subscription " + d.Subscription.Name, Live: "subscriptions&transmissions&notifications", Data: d,
		Left: k.Note(web.APIPath("subscription/name/", d.Subscription.Name)),
	})
}

// readSubscription reads a whole subscription, and the others that its test is sent to.
func (s subscriptionPages) readSubscription(c *gin.Context, name string) (d subscriptionData, err error) {
	if d.Subscription, _, err = web.Read(s.Memory(c), s.state, entities.Subscriptions.Table, "subscription", name); err == nil {
		d.Also, err = s.alsoTested(c, d.Subscription)
	}
	return d, err
}

// readOutcomes reads the latest transmissions, and how each channel does.
func (s subscriptionPages) readOutcomes(c *gin.Context, d *subscriptionData) error {
	u, _ := web.User(c)
	notes, done := s.notes()
	defer done()
	own := domain.Filter{Index: domain.IndexSubscription, Value: d.Subscription.Name}
	latest, _, err := notes.Lists.Transmissions(domain.Page{Limit: mostOutcomeLook}, own)
	if err != nil {
		return err
	}
	d.Recent, d.Unseen = sentOf(notes.State, latest, u.Role), unseen(notes, d.Subscription)
	for i, one := range d.Recent {
		if change, _ := titleOfChange(c.Request.Context(), s.changes, one.Cause); change != "" {
			d.Recent[i].Title = change
		}
	}
	d.Matched = slices.ContainsFunc(d.Recent, func(one sent) bool { return !one.Test })
	d.MayReplay = slices.ContainsFunc(d.Subscription.Channels, func(ch domain.Channel) bool { return ch.Type == domain.ChannelZeroMQ })
	counted := latest[:min(len(latest), outcomeLimit(d.Subscription))]
	d.Channels, err = s.channelViews(c, notes, d.Subscription.Channels, outcomes(d.Subscription, counted, u.Role))
	return err
}

// retriesOf says how often a message is sent again, and when: by the subscription, or else by the settings.
func (s subscriptionPages) retriesOf(sub domain.Subscription) string {
	var limit, every string
	for _, one := range s.system.Settings() {
		switch one.Name {
		case "resend-limit":
			limit = one.Value
		case "resend-interval":
			every = one.Value
		}
	}
	if sub.ResendLimit == 0 && sub.ResendInterval == "" {
		return fmt.Sprintf("at most %s, after %s and then longer pauses (settings resend-limit and resend-interval)", limit, every)
	}
	if sub.ResendLimit > 0 {
		limit = strconv.Itoa(sub.ResendLimit)
	}
	return fmt.Sprintf("at most %s, every %s", limit, cmp.Or(sub.ResendInterval, every))
}

// alsoTested returns the names of other subscriptions that match the test of sub.
func (s subscriptionPages) alsoTested(c *gin.Context, sub domain.Subscription) (names []string, err error) {
	index, value := testMark(sub)
	others, _, err := web.List(s.Memory(c), s.state, entities.Subscriptions, domain.Page{Limit: web.PageRows}, []domain.Filter{{Index: index, Value: value}}, web.CutRow)
	for _, one := range others {
		if one.Name != sub.Name && one.AdminState == domain.StateUnlocked {
			names = append(names, one.Name)
		}
	}
	return names, err
}

// testMark is the category or the label by which a subscription matches a test.
func testMark(sub domain.Subscription) (index, value string) {
	if len(sub.Categories) > 0 {
		return domain.IndexCategory, sub.Categories[0]
	}
	if len(sub.Labels) > 0 {
		return domain.IndexLabel, sub.Labels[0]
	}
	return domain.IndexCategory, ""
}

func (s subscriptionPages) channelViews(c *gin.Context, notes domain.View, channels []domain.Channel, by map[string]outcome) ([]channelView, error) {
	u, _ := web.User(c)
	states := s.system.Endpoints()
	views := make([]channelView, len(channels))
	for i, ch := range channels {
		views[i] = channelView{Channel: ch, Outcome: by[ch.Target()]}
		if at := slices.IndexFunc(states, func(e domain.EndpointState) bool { return e.Target == ch.Target() }); at >= 0 {
			views[i].Delivery = &states[at]
			if states[at].Failures > 0 {
				var err error
				if views[i].Why, _, err = lastAnswer(notes.Lists, ch.Target(), u.Role); err != nil {
					return nil, err
				}
			}
		}
		if ch.Type == domain.ChannelZeroMQ {
			views[i].Sockets = s.network.socketsOf(ch)
			views[i].Address = s.network.connectTo(c, ch)
			views[i].Snippets = snippets(views[i].Address, ch.Topic)
		}
	}
	return views, nil
}

func (s subscriptionPages) setSubscriptionState(c *gin.Context) error {
	name := c.Param("name")
	a := s.ChangeOne(c, notificationsService, http.MethodPatch, web.API+"/subscription", "subscription",
		map[string]any{"name": name, "adminState": c.PostForm("adminState")}, "")
	return s.Finish(c, a, "/subscriptions/"+url.PathEscape(name), "The subscription is %s.", strings.ToLower(c.PostForm("adminState")))
}

func (s subscriptionPages) deleteSubscription(c *gin.Context) error {
	a := s.Call(c, notificationsService, http.MethodDelete, web.APIPath("subscription/name/", c.Param("name")), nil)
	return s.Finish(c, a, "/subscriptions", "The subscription %s is deleted.", c.Param("name"))
}

// testSubscription posts a notification that the subscription matches, and shows where it goes. The API has no way to send to one
// subscription alone.
func (s subscriptionPages) testSubscription(c *gin.Context) error {
	d, err := s.readSubscription(c, c.Param("name"))
	if err != nil {
		return err
	}
	content, _ := json.Marshal(map[string]any{"test": true, "subscription": d.Subscription.Name, "message": "This is a test from the console."}) // text always encodes
	fields := map[string]any{
		"content": string(content), "contentType": "application/json", "sender": noticed.TestSender, "severity": domain.SeverityNormal,
		"description": noticed.TestDescription + d.Subscription.Name,
	}
	if index, value := testMark(d.Subscription); index == domain.IndexLabel {
		fields["labels"] = []string{value}
	} else {
		fields["category"] = value
	}
	a, id := sendOne(c, s.Site, fields)
	if !a.OK() {
		return s.ShowError(c, a.Status, a.Message)
	}
	return s.Redirect(c, "/notifications/"+id+"?test=1")
}

// trySubscription sends the waiting transmissions of the subscription's endpoints now.
func (s subscriptionPages) trySubscription(c *gin.Context) error {
	d, err := s.readSubscription(c, c.Param("name"))
	if err != nil {
		return err
	}
	waited, tried := 0, map[string]bool{}
	for _, ch := range d.Subscription.Channels {
		if name := ch.Endpoint(); !tried[name] {
			tried[name] = true
			waited += s.system.TryNow(ch)
		}
	}
	to := "/subscriptions/" + url.PathEscape(d.Subscription.Name)
	if waited == 0 {
		return s.Done(c, to, "Nothing waits for the endpoints of this subscription.")
	}
	return s.Done(c, to, "The endpoints are tried now. Messages that wait: %d. All of them are sent when their endpoint answers. "+
		"To have a try on record, use Try now on the page of a message.", waited)
}

// sinceForm returns the query of a replay or a resend: from the time in an input on, 1,000 messages at the most.
func sinceForm(c *gin.Context, input string) url.Values {
	from := strings.TrimSpace(c.PostForm(input))
	if at, _, wrong := web.ReadTime(from); wrong == "" {
		from = at.Format(time.RFC3339)
	}
	q := url.Values{"limit": {"1000"}}
	if from != "" {
		q.Set("from", from)
	}
	return q
}

// resendFailed sends the messages again that were given up since a time.
func (s subscriptionPages) resendFailed(c *gin.Context) error {
	name := c.Param("name")
	path := web.APIPath("transmission/subscription/name/", name) + "/resend?" + sinceForm(c, "since").Encode()
	a := s.Call(c, notificationsService, http.MethodPost, path, nil)
	var got struct {
		Resend struct {
			Count, Skipped int
			More           bool
		} `json:"resend"`
	}
	_ = json.Unmarshal(a.Body, &got) // a refusal has none
	if a.OK() && got.Resend.Count+got.Resend.Skipped == 0 {
		const says = "No message was given up. To send the ones that wait at once, use Try again now."
		return s.Finish(c, a, "/subscriptions/"+url.PathEscape(name), says)
	}
	more := ""
	if n := got.Resend.Skipped; n > 0 {
		more = fmt.Sprintf(" Skipped: %d, which have 100 tries, or whose channel is gone.", n)
	}
	if got.Resend.More {
		more += " There are more; send again."
	}
	return s.Finish(c, a, "/subscriptions/"+url.PathEscape(name), "Sent again: %d.%s The result is below.", got.Resend.Count, more)
}

// replaySubscription sends the messages since a time again.
func (s subscriptionPages) replaySubscription(c *gin.Context) error {
	name, q := c.Param("name"), sinceForm(c, "from")
	a := s.Call(c, notificationsService, http.MethodPost, web.APIPath("subscription/name/", name)+"/replay?"+q.Encode(), nil)
	var got struct {
		Replay struct {
			Count, Dropped int
			Next           uint64
			More           bool
		} `json:"replay"`
	}
	_ = json.Unmarshal(a.Body, &got) // a refusal has none
	more := ""
	if got.Replay.More {
		more = " There are more messages; replay again to send them."
	}
	return s.Finish(c, a, "/subscriptions/"+url.PathEscape(name),
		"Sent again: %d; lost by slow subscribers: %d. The next replay continues at sequence %d.%s",
		got.Replay.Count, got.Replay.Dropped, got.Replay.Next, more)
}
