package console

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/noticed"
)

func (s *Console) subscriptionRoutes() []route {
	return []route{
		{"GET", "/subscriptions", domain.MayRead, s.share(s.subscriptions)},
		{"GET", "/subscriptions/+add", domain.MayChange, s.showAddSubscription},
		{"POST", "/subscriptions/+add", domain.MayChange, s.addSubscription},
		{"GET", "/subscriptions/:name", domain.MayRead, s.share(s.subscription)},
		{"GET", "/subscriptions/:name/edit", domain.MayChange, s.showEditSubscription},
		{"POST", "/subscriptions/:name/edit", domain.MayChange, s.editSubscription},
		{"POST", "/subscriptions/:name/state", domain.MayChange, s.setSubscriptionState},
		{"POST", "/subscriptions/:name/delete", domain.MayChange, s.deleteSubscription},
		{"POST", "/subscriptions/:name/test", domain.MayChange, s.testSubscription},
		{"POST", "/subscriptions/:name/try", domain.MayChange, s.trySubscription},
		{"POST", "/subscriptions/:name/replay", domain.MayChange, s.replaySubscription},
	}
}

type subscriptionsData struct {
	Subscriptions             []subscriptionRow
	Pager                     listPager
	Category, Label, Receiver string

	CategoriesInUse, LabelsInUse []option
}

// subscriptionRow is a subscription in the list, with what came of its latest messages.
type subscriptionRow struct {
	domain.Subscription
	Outcome outcome
}

func rowOfSubscription(sub *domain.Subscription) domain.Subscription {
	row := cutRow(sub)
	if left := len(sub.Channels) - len(row.Channels); left > 0 {
		row.Channels = append(row.Channels, domain.Channel{Type: fmt.Sprintf("and %d more", left)})
	}
	return row
}

func (s *Console) subscriptionRows(c *gin.Context, subs []domain.Subscription) ([]subscriptionRow, error) {
	u, _ := user(c)
	notes, done := s.Notes()
	defer done()
	rows := make([]subscriptionRow, len(subs))
	for i, sub := range subs {
		var err error
		if rows[i].Subscription = sub; true {
			rows[i].Outcome, err = worst(notes.Lists, sub, u.Role)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (s *Console) subscriptions(c *gin.Context) {
	list, total, err := list(s.memory(c), s.State, subscriptionKind, domain.Page{Offset: offset(c), Limit: pageRows},
		indexFilters(c, domain.IndexCategory, domain.IndexLabel, domain.IndexReceiver), rowOfSubscription)
	if err != nil {
		s.failList(c, err)
		return
	}
	rows, err := s.subscriptionRows(c, list)
	if err != nil {
		s.fail(c, err)
		return
	}
	categories, labels, err := s.tagsInUse(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.show(c, http.StatusOK, "subscriptions", Page{Title: "Subscriptions", Live: "subscriptions&transmissions", Data: subscriptionsData{
		rows, pagerOf(c, total, len(list)),
		filterText(c, domain.IndexCategory), filterText(c, domain.IndexLabel), filterText(c, domain.IndexReceiver), categories, labels,
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

// Hidden reports whether the last answer is hidden from the user.
func (v channelView) Hidden() bool { return v.Why == domain.HiddenAnswer }

type subscriptionData struct {
	Subscription domain.Subscription
	Channels     []channelView
	// Also are other subscriptions that a test is sent to.
	Also   []string
	Recent []sent
	// Unseen says which of its categories and labels no notification has had.
	Unseen []string
}

// Matched reports whether a notification has matched, tests aside.
func (d subscriptionData) Matched() bool {
	return slices.ContainsFunc(d.Recent, func(one sent) bool { return !one.Test })
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

func (s *Console) subscription(c *gin.Context) {
	d, err := s.readSubscription(c, c.Param("name"))
	if err != nil {
		s.fail(c, err)
		return
	}
	k := forPage()
	d.Subscription = cutWith(k, &d.Subscription)
	if err := s.readOutcomes(c, &d); err != nil {
		s.fail(c, err)
		return
	}
	s.show(c, http.StatusOK, "subscription", Page{
		Title: "Subscription " + d.Subscription.Name, Live: "subscriptions&transmissions&notifications", Data: d,
		Left: k.note(apiPath("subscription/name/", d.Subscription.Name)),
	})
}

// readSubscription reads a whole subscription, and the others that its test is sent to.
func (s *Console) readSubscription(c *gin.Context, name string) (d subscriptionData, err error) {
	if d.Subscription, _, err = read(s.memory(c), s.State, subscriptionKind.Table, "subscription", name); err == nil {
		d.Also, err = s.alsoTested(c, d.Subscription)
	}
	return d, err
}

// readOutcomes reads the latest transmissions, and how each channel does.
func (s *Console) readOutcomes(c *gin.Context, d *subscriptionData) error {
	u, _ := user(c)
	notes, done := s.Notes()
	defer done()
	own := domain.Filter{Index: domain.IndexSubscription, Value: d.Subscription.Name}
	latest, _, err := notes.Lists.Transmissions(domain.Page{Limit: mostOutcomeLook}, own)
	if err != nil {
		return err
	}
	d.Recent, d.Unseen = sentOf(notes.State, latest, u.Role), unseen(notes, d.Subscription)
	d.Channels, err = s.channelViews(c, notes, d.Subscription.Channels, outcomes(d.Subscription, latest, u.Role))
	return err
}

// alsoTested returns the names of other subscriptions that match the test of sub.
func (s *Console) alsoTested(c *gin.Context, sub domain.Subscription) (names []string, err error) {
	index, value := testMark(sub)
	others, _, err := list(s.memory(c), s.State, subscriptionKind, domain.Page{Limit: pageRows}, []domain.Filter{{Index: index, Value: value}}, cutRow)
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

func (s *Console) channelViews(c *gin.Context, notes domain.View, channels []domain.Channel, by map[string]outcome) ([]channelView, error) {
	u, _ := user(c)
	states := s.System.Endpoints()
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
			views[i].Sockets = s.socketsOf(ch)
			views[i].Address = s.connectTo(c, ch)
			views[i].Snippets = snippets(views[i].Address, ch.Topic)
		}
	}
	return views, nil
}

func (s *Console) socketsOf(ch domain.Channel) (list []SocketState) {
	if s.Sockets == nil {
		return nil
	}
	for _, one := range s.Sockets() {
		if one.Port == ch.Port {
			list = append(list, one)
		}
	}
	if len(list) > 1 {
		list = slices.DeleteFunc(list, func(one SocketState) bool { return one.Host != ch.Host })
	}
	return list
}

func (s *Console) setSubscriptionState(c *gin.Context) {
	name := c.Param("name")
	a := s.changeOne(c, notificationsService, http.MethodPatch, api+"/subscription", "subscription",
		map[string]any{"name": name, "adminState": c.PostForm("adminState")}, "")
	s.finish(c, a, "/subscriptions/"+url.PathEscape(name), "The subscription is %s.", strings.ToLower(c.PostForm("adminState")))
}

func (s *Console) deleteSubscription(c *gin.Context) {
	a := s.call(c, notificationsService, http.MethodDelete, apiPath("subscription/name/", c.Param("name")), nil)
	s.finish(c, a, "/subscriptions", "The subscription %s is deleted.", c.Param("name"))
}

// testSubscription posts a notification that the subscription matches, and shows where it goes. The API has no way to send to one
// subscription alone.
func (s *Console) testSubscription(c *gin.Context) {
	d, err := s.readSubscription(c, c.Param("name"))
	if err != nil {
		s.fail(c, err)
		return
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
	a, id := s.sendOne(c, fields)
	if !a.ok() {
		s.showError(c, a.Status, a.Message)
		return
	}
	s.redirect(c, "/notifications/"+id+"?test=1")
}

// trySubscription sends the waiting transmissions of the subscription's endpoints now.
func (s *Console) trySubscription(c *gin.Context) {
	d, err := s.readSubscription(c, c.Param("name"))
	if err != nil {
		s.fail(c, err)
		return
	}
	waited, tried := 0, map[string]bool{}
	for _, ch := range d.Subscription.Channels {
		if name := ch.Endpoint(); !tried[name] {
			tried[name] = true
			waited += s.System.TryNow(ch)
		}
	}
	to := "/subscriptions/" + url.PathEscape(d.Subscription.Name)
	if waited == 0 {
		s.done(c, to, "Nothing waits for the endpoints of this subscription.")
		return
	}
	s.done(c, to, "The endpoints are tried now. %d %s waiting; the result is below.", waited, map[bool]string{true: "transmission was", false: "transmissions were"}[waited == 1])
}

// replaySubscription sends the messages since a time again.
func (s *Console) replaySubscription(c *gin.Context) {
	name := c.Param("name")
	from := strings.TrimSpace(c.PostForm("from"))
	if at, _, wrong := readTime(from); wrong == "" {
		from = at.Format(time.RFC3339)
	}
	q := url.Values{"limit": {"1000"}}
	if from != "" {
		q.Set("from", from)
	}
	a := s.call(c, notificationsService, http.MethodPost, apiPath("subscription/name/", name)+"/replay?"+q.Encode(), nil)
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
	s.finish(c, a, "/subscriptions/"+url.PathEscape(name), "Sent again: %d messages; lost by slow subscribers: %d. The next replay continues at sequence %d.%s",
		got.Replay.Count, got.Replay.Dropped, got.Replay.Next, more)
}

// NetInterface is a network interface of the machine with its addresses.
type NetInterface struct {
	Name      string
	Addresses []string
}

// SocketState is a bound ZeroMQ socket and its subscribers.
type SocketState struct {
	Host        string
	Port        int
	Subscribers int
	// Published are the messages so far, Drops those that slow subscribers have missed, and Evictions the subscribers that were disconnected.
	Published, Drops, Evictions uint64
}

// The uses of a port, as Options.PortUse says them.
const (
	PortFree    = "free"
	PortShared  = "shared" // a ZeroMQ channel of Ledge is bound to it
	PortTaken   = "taken"  // another program or service listens there
	PortUnknown = ""       // not known
)

// bindHosts are the values for the host of a ZeroMQ channel.
func (s *Console) bindHosts() []option {
	list := []option{{"*", "all interfaces"}}
	if s.Interfaces == nil {
		return list
	}
	for _, one := range s.Interfaces() {
		list = append(list, option{one.Name, one.Name + ": " + strings.Join(one.Addresses, ", ")})
		for _, at := range one.Addresses {
			list = append(list, option{at, at + " (" + one.Name + ")"})
		}
	}
	return list
}

// portHint says whether a port can be used; it is empty if that is not known.
func (s *Console) portHint(host, text string) string {
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 || s.PortUse == nil {
		return ""
	}
	switch s.PortUse(host, port) {
	case PortFree:
		return fmt.Sprintf("Port %d is free.", port)
	case PortShared:
		return fmt.Sprintf("Port %d is shared with another ZeroMQ channel: subscribers choose by topic.", port)
	case PortTaken:
		return fmt.Sprintf("Port %d is taken by another program; choose another.", port)
	}
	return ""
}

// connectTo is the address that subscribers of a ZeroMQ channel connect to.
func (s *Console) connectTo(c *gin.Context, ch domain.Channel) string {
	host := ch.Host
	if host == "*" || host == "0.0.0.0" || host == "::" {
		host = hostOf(c)
	}
	if s.Interfaces != nil {
		for _, one := range s.Interfaces() {
			if one.Name == host && len(one.Addresses) > 0 {
				host = one.Addresses[0]
			}
		}
	}
	return "tcp://" + net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(ch.Port))
}

// snippet is a program that subscribes.
type snippet struct{ Title, Needs, Code string }

// snippets are programs that subscribe to a topic. All texts are quoted in the language of the program.
func snippets(address, topic string) []snippet {
	return []snippet{
		{"Python", "pip install pyzmq, or apt install python3-zmq", fmt.Sprintf(pythonSnippet, topic, address)},
		{"Go", "go get github.com/pebbe/zmq4, which uses libzmq", fmt.Sprintf(goSnippet, address, topic)},
		{"Shell", "python3-zmq, as above", fmt.Sprintf(shellSnippet, shellQuote(address), shellQuote(topic))},
	}
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

const pythonSnippet = `import zmq

socket = zmq.Context.instance().socket(zmq.SUB)
socket.setsockopt(zmq.SUBSCRIBE, %q.encode())
socket.connect(%q)
while True:
    topic, body = socket.recv_multipart()
    print(topic.decode(), body.decode(), flush=True)
`

const goSnippet = `package main

import (
	"fmt"
	"log"

	zmq "github.com/pebbe/zmq4"
)

func main() {
	socket, err := zmq.NewSocket(zmq.SUB)
	if err != nil {
		log.Fatal(err)
	}
	if err := socket.Connect(%q); err != nil {
		log.Fatal(err)
	}
	if err := socket.SetSubscribe(%q); err != nil {
		log.Fatal(err)
	}
	for {
		message, err := socket.RecvMessage(0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(message)
	}
}
`

const shellSnippet = `python3 -uc '
import sys, zmq
s = zmq.Context.instance().socket(zmq.SUB)
s.setsockopt(zmq.SUBSCRIBE, sys.argv[2].encode())
s.connect(sys.argv[1])
while True: print(*[f.decode() for f in s.recv_multipart()])
' %s %s
`
