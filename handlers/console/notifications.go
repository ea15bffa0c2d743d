package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	past "ledge/domain/history"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
	"ledge/handlers/noticed"
)

const (
	// mostExamined bounds the notifications that a page looks at to find those with a severity or a text, which have no index.
	mostExamined = 500
	// mostSearched bounds the part of a notification's content in which a text is looked for, in bytes.
	mostSearched = 4 << 10
)

// notificationPages are the pages of notifications.
type notificationPages struct {
	tags
	changes Changes
	system  System
}

func (s notificationPages) Routes() []web.Route {
	return []web.Route{
		web.Get("/notifications", domain.MayRead, s.Share(s.notifications)),
		web.Get("/notifications/+send", domain.MayChange, s.showSendNotification),
		web.Post("/notifications/+send", domain.MayChange, s.sendNotification),
		web.Get("/notifications/:id", domain.MayRead, s.Share(s.notification)),
		web.Post("/notifications/+acknowledge", domain.MayChange, s.acknowledgeShown),
		web.Post("/notifications/:id/acknowledge", domain.MayChange, s.acknowledge),
		web.Post("/notifications/:id/resend", domain.MayChange, s.resend),
		web.Post("/notifications/:id/delete", domain.MayChange, s.deleteNotification),
	}
}

// notificationRow is a notification in the list, with the results of its deliveries.
type notificationRow struct {
	domain.Notification
	Title, Deliveries string
	Nobody            int // messages that were published and reached no subscriber
}

type notificationsData struct {
	Notifications []notificationRow
	Pager         web.Pager
	Examined      int
	Searched      bool // the rows were searched for a severity or a text
	Filtered      bool // not all notifications are asked for
	Open          bool // the list is of notifications that are not acknowledged
	Filters       []web.Field
	Period        web.Period
}

// deliveryFailed is the filter of notifications with deliveries that were given up.
const deliveryFailed = "failed"

// notificationFilters returns the inputs of the filters in a query, without the period.
func notificationFilters(q url.Values, categories, labels []web.Option) []web.Field {
	inputs := []web.Field{
		{Name: "text", Label: "Device or text", Type: "text"},
		{Name: "severity", Label: "Severity", Type: "select", Options: web.Labelled("", "any",
			domain.SeverityMinor, "minor", domain.SeverityNormal, "normal", domain.SeverityCritical, "critical")},
		{Name: "status", Label: "Status", Type: "select", Options: web.Labelled("", "any",
			domain.StatusNew, "new", domain.StatusProcessed, "processed", domain.StatusEscalated, "escalated")},
		{Name: "ack", Label: "Acknowledged", Type: "select", Options: web.Labelled("", "any",
			"true", "acknowledged", "false", "not acknowledged")},
		{Name: "delivery", Label: "Delivery", Type: "select", Options: web.Labelled("", "any", deliveryFailed, "failed, given up")},
		{Name: "category", Label: "Category", Type: "text", Options: categories},
		{Name: "label", Label: "Label", Type: "text", Options: labels},
		{Name: "subscription", Label: "Subscription", Type: "text"},
	}
	for i := range inputs {
		inputs[i].Value = q.Get(inputs[i].Name)
	}
	return inputs
}

func (s notificationPages) notifications(c *gin.Context) error {
	d := notificationsData{Period: web.PeriodOf(c)}
	var err error
	if d.Period.Status() == http.StatusOK {
		var total int
		_, severity := attentionFilters(c)
		d.Searched = severity+web.FilterText(c, "text") != ""
		var found []domain.Notification
		if found, total, d.Examined, err = s.findNotifications(c, d.Period); err == nil {
			d.Notifications, err = s.notificationRows(c, found)
		}
		if err != nil {
			return s.FailList(c, err)
		}
		d.Pager = web.PagerOf(c, total, d.Examined)
	}
	d.Open = c.Query("ack") == "false" && len(d.Notifications) > 0
	categories, labels, err := s.tagsInUse(c)
	if err != nil {
		return err
	}
	d.Filters = notificationFilters(c.Request.URL.Query(), categories, labels)
	d.Filtered = d.Period.Given() || slices.ContainsFunc(d.Filters, func(f web.Field) bool { return f.Value != "" })
	return s.Show(c, d.Period.Status(), "notifications", web.Page{Title: "Notifications", Live: "notifications&transmissions", Data: d})
}

// mostCounted bounds the transmissions of a notification that the list reads to count the messages that reached nobody. One of more than
// mostCountedBytes, with many tries, counts as sent.
const mostCounted, mostCountedBytes = 20, 4 << 10

// notificationRows adds titles and the counts of transmissions. For each notification it reads one event and at most mostCounted
// transmissions.
func (s notificationPages) notificationRows(c *gin.Context, list []domain.Notification) ([]notificationRow, error) {
	view, done := s.notes()
	defer done()
	rows := make([]notificationRow, len(list))
	for i, n := range list {
		own := domain.Filter{Index: domain.IndexNotification, Value: n.ID}
		ids, total, err := view.Lists.Keys(domain.ListTransmissions, domain.Page{Limit: mostCounted}, own)
		if err != nil {
			return nil, err
		}
		nobody := 0
		for _, id := range ids {
			var t domain.Transmission
			domain.GetWithin(view.State.Transmissions, id, mostCountedBytes, &t)
			if len(t.Records) > 0 && lastTry(t).ReachedNobody() {
				nobody++
			}
		}
		title, _ := s.titleOf(c.Request.Context(), n)
		rows[i] = notificationRow{n, title, countDeliveries(total, nobody, n.Failed, n.Open), nobody}
	}
	return rows, nil
}

// countDeliveries says how many of some transmissions were sent, were sent to nobody, failed, and wait.
func countDeliveries(total, nobody, failed, waiting int) string {
	var parts []string
	for _, one := range []struct {
		n    int
		word string
	}{{total - nobody - failed - waiting, "sent"}, {nobody, "sent to nobody"}, {failed, "failed"}, {waiting, "waiting"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprint(one.n, " ", one.word))
		}
	}
	return strings.Join(parts, ", ")
}

// titleOf returns the device change in words, such as "gate-cam-1 locked by anna", with the name of the device, or else the description.
func (s notificationPages) titleOf(ctx context.Context, n domain.Notification) (title, device string) {
	title, device = titleOfChange(ctx, s.changes, n.Cause)
	return cmp.Or(title, n.Description), device
}

// titleOfChange describes the device change at a sequence, and returns the name of the device; "" if there is none, or it is in an archive.
func titleOfChange(ctx context.Context, changes Changes, cause uint64) (title, device string) {
	if cause == 0 {
		return "", ""
	}
	r, ok, err := changes.At(ctx, cause)
	if !ok || err != nil {
		return "", ""
	}
	if subject := r.Event.Subject(); len(subject) > 1 {
		device = subject[1]
	}
	return describeChange(r), device
}

// describeChange describes the change of a device, with its author.
func describeChange(r domain.Recorded) string {
	subject := r.Event.Subject()
	if len(subject) < 3 {
		return ""
	}
	verbs := []string{}
	if e, ok := r.Event.(domain.DevicePatched); ok {
		for _, one := range []struct{ field, value, verb string }{
			{"adminState", domain.StateLocked, "locked"}, {"adminState", domain.StateUnlocked, "unlocked"},
			{"operatingState", domain.StateDown, "set DOWN"}, {"operatingState", domain.StateUp, "set UP"},
			{"operatingState", domain.StateUnknown, "set UNKNOWN"},
		} {
			if string(e.Changes[one.field].Is) == strconv.Quote(one.value) {
				verbs = append(verbs, one.verb)
			}
		}
	}
	if len(verbs) == 0 {
		verbs = append(verbs, subject[2])
	}
	return fmt.Sprintf("%s %s by %s", subject[1], strings.Join(verbs, ", "), strings.TrimPrefix(r.Actor, "user:"))
}

// matchedRow is a notification in the list. matches says that it has the severity and the text of the filters.
type matchedRow struct {
	domain.Notification
	matches bool
}

// matchRow returns a function that makes rows. An empty severity or text matches all notifications. A text matches in any case, in the
// category, the labels, the sender, the description, and the first bytes of the content, which name the device of a change.
func matchRow(severity, text string) func(*domain.Notification) matchedRow {
	text = strings.ToLower(text)
	return func(n *domain.Notification) matchedRow {
		has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
		found := has(n.Content[:min(len(n.Content), mostSearched)]) || has(n.Description) || has(n.Sender) || has(n.Category) ||
			slices.ContainsFunc(n.Labels, has)
		n.Matched = nil
		return matchedRow{web.CutRow(n), found && (severity == "" || n.Severity == severity)}
	}
}

func (s notificationPages) findNotifications(c *gin.Context, during web.Period) (found []domain.Notification, total, examined int, err error) {
	filters := web.IndexFilters(c, domain.IndexStatus, domain.IndexCategory, domain.IndexLabel, domain.IndexSubscription)
	if during.Given() {
		filters = append(filters, domain.Between(during.First.UnixMilli(), during.Last.UnixMilli()))
	}
	attention, severity := attentionFilters(c)
	filters = append(filters, attention...)
	text := web.FilterText(c, "text")
	for examined < mostExamined && len(found) < web.PageRows {
		page := domain.Page{Offset: web.Offset(c) + examined, Limit: web.PageRows - len(found)}
		rows, n, err := web.List(s.Memory(c), s.notes, entities.Notifications, page, filters, matchRow(severity, text))
		if err != nil {
			return nil, 0, 0, err
		}
		total = n
		examined += len(rows)
		for _, row := range rows {
			if row.matches {
				found = append(found, row.Notification)
			}
		}
		if severity+text == "" || len(rows) == 0 || web.Offset(c)+examined >= total {
			break
		}
	}
	return found, total, examined, nil
}

// attentionFilters are the filters by acknowledgement, by failed delivery and by severity. severity is the one to look for in the rows: the
// only index by severity has the CRITICAL notifications that are not acknowledged.
func attentionFilters(c *gin.Context) (filters []domain.Filter, severity string) {
	add := func(index, value string, without bool) {
		filters = append(filters, domain.Filter{Index: index, Value: value, Without: without})
	}
	ack, failed := web.FilterText(c, "ack"), web.FilterText(c, "delivery") == deliveryFailed
	severity = web.FilterText(c, "severity")
	open := ack == "false"
	if open && severity == domain.SeverityCritical {
		add(domain.IndexAttention, domain.AttentionCriticalOpen, false)
		severity = ""
	}
	switch {
	case failed && open:
		add(domain.IndexAttention, domain.AttentionFailedOpen, false)
	case failed:
		add(domain.IndexAttention, domain.AttentionFailed, false)
	}
	if ack == "true" || open && len(filters) == 0 {
		add(domain.IndexAcknowledged, domain.Acknowledged, open)
	}
	return filters, severity
}

// transmissionView is a transmission as the API shows it to the user: what receivers have answered is not for every role.
type transmissionView struct {
	ID               string         `json:"id"`
	Channel          domain.Channel `json:"channel"`
	SubscriptionName string         `json:"subscriptionName"`
	Records          []try          `json:"records"`
	ResendCount      int            `json:"resendCount"`
	Status           string         `json:"status"`
	MayResend        bool           `json:"-"` // it was given up, so that it can be sent again
	Nobody           bool           `json:"-"` // the last try reached no subscriber
	MayTry           bool           `json:"-"` // it waits, so that it can be tried now
	Next             int64          `json:"-"` // the time of its next try at the latest, in milliseconds since the Unix epoch; 0 for none
	Device           string         `json:"-"` // it waits for earlier messages about this device
}

// try is a try of a transmission. Nobody says that it reached no subscriber.
type try struct {
	domain.TransmissionRecord
	Nobody bool `json:"-"`
}

// findNextTries sets the next tries of open transmissions, and the devices in whose order they wait. The API does not have them.
func (s notificationPages) findNextTries(all []transmissionView) {
	view, done := s.notes()
	defer done()
	now := s.Now().UnixMilli()
	for i := range all {
		t, ok := view.State.Transmissions.Get(all[i].ID)
		if !ok || !t.IsOpen() {
			continue
		}
		all[i].MayTry, all[i].Device = true, t.Entity
		if t.Next > now && len(t.Records) > 0 {
			all[i].Next = t.Next
		}
	}
}

// complete sets MayResend and Nobody, and puts the last try first.
func (v *transmissionView) complete() {
	v.MayResend = domain.Transmission{Status: v.Status}.IsGivenUp()
	for i := range v.Records {
		v.Nobody = v.Records[i].ReachedNobody()
		v.Records[i].Nobody = v.Nobody
	}
	slices.Reverse(v.Records)
}

type notificationData struct {
	Notification  domain.Notification
	Title         string
	Transmissions []transmissionView
	Total         int
	// Came is what came of a test that the user has sent from the page of a subscription; nil for another notification.
	Came *banner
	// Device is the one whose change raised it; "" if it was posted.
	Device string
	// Acknowledged is its acknowledgement; nil if there is none, or its event is not on the log any more.
	Acknowledged *past.Entry
}

// countTransmissions counts the transmissions that have arrived, reached no subscriber, failed, and wait. why is the answer to the first
// that has failed or has reached no subscriber.
func countTransmissions(all []transmissionView) (arrived, nobody, failed, waiting int, why string) {
	for _, t := range all {
		wrong := slices.ContainsFunc(t.Records, func(r try) bool { return r.Status == domain.StatusFailed })
		switch {
		case t.Nobody:
			if nobody++; why == "" {
				why = fmt.Sprintf("%s: %s", t.SubscriptionName, t.Records[0].Response)
			}
		case t.Status == domain.StatusSent || t.Status == domain.StatusAcknowledged:
			arrived++
		case wrong:
			failed++
			if why == "" {
				why = fmt.Sprintf("%s: %s", t.SubscriptionName, t.Records[0].Response)
			}
		default:
			waiting++
		}
	}
	return arrived, nobody, failed, waiting, why
}

// bannerOf returns the result of a test of a subscription, and counts the transmissions of other subscriptions.
func bannerOf(d notificationData, tested string) *banner {
	own := slices.DeleteFunc(slices.Clone(d.Transmissions), func(v transmissionView) bool { return v.SubscriptionName != tested })
	b := ownBanner(d.Notification, own)
	if others := d.Total - len(own); others > 0 {
		b.Text += fmt.Sprintf(" Transmissions of other subscriptions: %d.", others)
	}
	return b
}

// ownBanner returns the result of the transmissions of the tested subscription.
func ownBanner(n domain.Notification, own []transmissionView) *banner {
	arrived, nobody, failed, waiting, why := countTransmissions(own)
	switch all := len(own); {
	case failed > 0:
		return &banner{"wrong", fmt.Sprintf("The test failed in %d of %d transmissions. %s", failed, all, why)}
	case waiting > 0, all == 0 && n.Status == domain.StatusNew:
		return &banner{"warning", "The test is under way. This page shows what comes of it."}
	case all == 0:
		return &banner{"wrong", "The subscription has not matched the test. A locked subscription gets nothing."}
	case nobody > 0:
		return &banner{"warning", fmt.Sprintf("The test was published in %d of %d transmissions, and nobody got it. %s", nobody, all, why)}
	}
	if arrived == 1 {
		return &banner{"notice", "The test was sent: 1 transmission."}
	}
	return &banner{"notice", fmt.Sprintf("The test was sent: %d transmissions.", arrived)}
}

// banner is a sentence on top of a page, with the class that gives it its colour.
type banner struct{ Class, Text string }

func (s notificationPages) notification(c *gin.Context) error {
	id := c.Param("id")
	var n domain.Notification
	row, err := entities.LookUp(s.Memory(c), s.notes, entities.Notifications.Table, id, &n)
	if err == nil && !row.OK {
		err = domain.Errorf(domain.NotFound, "There is no notification %.80q. It may have been removed by its age.", id)
	}
	k := web.ForPage()
	if n.Matched = nil; err == nil {
		n = web.Cut(k, &n)
		err = s.Memory(c).Hold(2 * web.MostAnswer) // its text, and what is read from it
	}
	if err != nil {
		return err
	}
	var got struct {
		Total         int                `json:"totalCount"`
		Transmissions []transmissionView `json:"transmissions"`
	}
	a := s.Call(c, notificationsService, http.MethodGet, web.APIPath("transmission/notification/id/", id)+"?limit=50", nil)
	_ = json.Unmarshal(a.Body, &got) // the message says what is wrong
	for i := range got.Transmissions {
		got.Transmissions[i].complete()
	}
	s.findNextTries(got.Transmissions)
	transmissions := web.Cut(&web.Cutter{Entries: web.PageRows, Text: web.ShownText, Room: 4 * web.ShownBytes}, &got.Transmissions)
	s.Memory(c).Release()
	tested, _ := strings.CutPrefix(n.Description, noticed.TestDescription)
	slices.SortStableFunc(transmissions, func(a, b transmissionView) int {
		first := func(v transmissionView) int { return map[bool]int{true: 0, false: 1}[v.SubscriptionName == tested] }
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.SubscriptionName, b.SubscriptionName), cmp.Compare(a.ID, b.ID))
	})
	d := notificationData{Notification: n, Transmissions: transmissions, Total: got.Total}
	d.Title, d.Device = s.titleOf(c.Request.Context(), n)
	if c.Query("test") != "" {
		d.Came = bannerOf(d, tested)
	}
	if n.Acknowledged {
		d.Acknowledged = s.acknowledgementOf(c, id)
	}
	return s.Show(c, http.StatusOK, "notification", web.Page{
		Title: "Notification", Live: "notifications&transmissions", Message: a.Message,
		Left: k.Note(web.APIPath("notification/id/", id)), Data: d,
	})
}

// acknowledgementOf returns the last acknowledgement of a notification, from its history; nil if it is not found.
func (s notificationPages) acknowledgementOf(c *gin.Context, id string) *past.Entry {
	var got past.Page
	a := s.Call(c, metadataService, http.MethodGet, web.APIPath("ledger/history/notification/", id)+"?limit=20", nil)
	_ = json.Unmarshal(a.Body, &got) // a refusal has no entries
	for _, e := range got.Entries {
		if slices.ContainsFunc(e.Changes, func(f past.Field) bool { return f.Field == "acknowledged" && string(f.Is) == "true" }) {
			e.Actor = strings.TrimPrefix(e.Actor, "user:")
			return &e
		}
	}
	return nil
}

func (s notificationPages) acknowledge(c *gin.Context) error {
	id, verb, notice := c.Param("id"), "acknowledge", "The notification is acknowledged."
	if c.PostForm("undo") != "" {
		verb, notice = "unacknowledge", "The notification is not acknowledged any more."
	}
	a := s.Call(c, notificationsService, http.MethodPut, web.APIPath("notification/"+verb+"/ids/", id), nil)
	return s.Finish(c, a, "/notifications/"+url.PathEscape(id), "%s", notice)
}

// acknowledgeShown acknowledges the notifications of a page of the list.
func (s notificationPages) acknowledgeShown(c *gin.Context) error {
	ids := c.PostFormArray("id")
	if len(ids) == 0 || len(ids) > web.PageRows {
		text := fmt.Sprintf("The form has %d notifications; send 1 to %d.", len(ids), web.PageRows)
		return s.ShowError(c, http.StatusUnprocessableEntity, text)
	}
	a := s.Call(c, notificationsService, http.MethodPut, web.APIPath("notification/acknowledge/ids/", strings.Join(ids, ",")), nil)
	return s.Finish(c, a, "/notifications?ack=false", "Acknowledged: %d.", len(ids))
}

// resend has one transmission of the notification sent again if it was given up, and tried now if it waits.
func (s notificationPages) resend(c *gin.Context) error {
	id, to := c.PostForm("transmission"), "/notifications/"+url.PathEscape(c.Param("id"))
	view, done := s.notes()
	t, ok := view.State.Transmissions.Get(id)
	done()
	if !ok || !t.IsOpen() {
		a := s.Call(c, notificationsService, http.MethodPost, web.APIPath("transmission/id/", id)+"/resend", nil)
		return s.Finish(c, a, to, "The message is sent again. This page shows the result.")
	}
	if s.system.TryTransmission(t) {
		return s.Done(c, to, "The message is tried now. This page shows the result.")
	}
	return s.Done(c, to, "The message is being tried, or waits until an earlier one about %s is sent or given up.",
		cmp.Or(t.Entity, "the same device"))
}

func (s notificationPages) deleteNotification(c *gin.Context) error {
	a := s.Call(c, notificationsService, http.MethodDelete, web.APIPath("notification/id/", c.Param("id")), nil)
	return s.Finish(c, a, "/notifications", "The notification is deleted.")
}

var notificationInputs = web.Inputs[domain.Notification]{
	{Field: web.Field{Name: "category", Label: "Category"}},
	{Field: tagsInput, Exact: true, Optional: true},
	{Field: web.Field{Name: "severity", Label: "Severity", Type: "select", Value: domain.SeverityNormal,
		Options: web.Labelled(domain.SeverityNormal, "normal", domain.SeverityMinor, "minor", domain.SeverityCritical, "critical")}},
	{Field: web.Field{Name: "sender", Label: "Sender", Required: true}, Exact: true},
	{Field: descriptionInput, Exact: true},
	{Field: web.Field{Name: "content", Label: "Content", Type: "textarea", Required: true}, Exact: true},
	{Field: web.Field{Name: "contentType", Label: "Content type", Hint: "Such as text/plain or application/json."}},
}

func (s notificationPages) showSendNotification(c *gin.Context) error {
	u, _ := web.User(c)
	f := notificationInputs.Blank()
	f.Texts["sender"] = u.Name
	return s.showNotificationForm(c, http.StatusOK, "", f)
}

func (s notificationPages) showNotificationForm(c *gin.Context, status int, message string, f *web.Form) error {
	notificationInputs.Show(f)
	if err := s.offerTags(c, f.Field("category"), f.Field("labels")); err != nil {
		return err
	}
	return s.Show(c, status, "notification_form", web.Page{Title: "Send a notification", Message: message, Data: f})
}

func (s notificationPages) sendNotification(c *gin.Context) error {
	f := notificationInputs.Read(c, "")
	a, id := sendOne(c, s.Site, notificationInputs.Values(f, nil))
	if !a.OK() {
		return s.showNotificationForm(c, a.Status, f.Refuse(a, notificationInputs.Labels()), f)
	}
	return s.Done(c, "/notifications/"+id, "The notification is sent.")
}

func sendOne(c *gin.Context, s *web.Site, fields map[string]any) (a web.Answer, id string) {
	a = s.ChangeOne(c, notificationsService, http.MethodPost, web.API+"/notification", "notification", fields, "")
	var items []struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(a.Body, &items) == nil && len(items) == 1 {
		id = items[0].ID
	}
	return a, id
}
