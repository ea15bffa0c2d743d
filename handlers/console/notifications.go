package console

import (
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
)

// mostExamined bounds the notifications that a page looks at to find those with a severity, which has no index.
const mostExamined = 500

// notificationPages are the pages of notifications.
type notificationPages struct {
	tags
	changes Changes
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
	Searched      bool // the rows were searched for a severity
	Open          bool // the list is of notifications that are not acknowledged
	Filters       []web.Field
	Period        web.Period
}

// deliveryFailed is the filter of notifications with deliveries that were given up.
const deliveryFailed = "failed"

// notificationFilters returns the inputs of the filters in a query, without the period.
func notificationFilters(q url.Values, categories, labels []web.Option) []web.Field {
	inputs := []web.Field{
		{Name: "severity", Label: "Severity", Type: "select", Options: web.Labelled("", "any",
			domain.SeverityMinor, "minor", domain.SeverityNormal, "normal", domain.SeverityCritical, "critical")},
		{Name: "status", Label: "Status", Type: "select", Options: web.Labelled("", "any",
			domain.StatusNew, "new", domain.StatusProcessed, "processed", domain.StatusEscalated, "escalated")},
		{Name: "ack", Label: "Acknowledged", Type: "select", Options: web.Labelled("", "any",
			"true", "acknowledged", "false", "not acknowledged")},
		{Name: "delivery", Label: "Delivery", Type: "select", Options: web.Labelled("", "any", deliveryFailed, "given up")},
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
		d.Searched = severity != ""
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
	if n.Cause == 0 {
		return n.Description, ""
	}
	r, ok, err := s.changes.At(ctx, n.Cause)
	if !ok || err != nil { // it is in an archive
		return n.Description, ""
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

// rowOfNotification returns what a list shows of a notification.
func rowOfNotification(n *domain.Notification) domain.Notification {
	n.Matched = nil
	return web.CutRow(n)
}

func (s notificationPages) findNotifications(c *gin.Context, during web.Period) (found []domain.Notification, total, examined int, err error) {
	filters := web.IndexFilters(c, domain.IndexStatus, domain.IndexCategory, domain.IndexLabel, domain.IndexSubscription)
	if during.Given() {
		filters = append(filters, domain.Between(during.First.UnixMilli(), during.Last.UnixMilli()))
	}
	attention, severity := attentionFilters(c)
	filters = append(filters, attention...)
	for examined < mostExamined && len(found) < web.PageRows {
		page := domain.Page{Offset: web.Offset(c) + examined, Limit: web.PageRows - len(found)}
		rows, n, err := web.List(s.Memory(c), s.notes, entities.Notifications, page, filters, rowOfNotification)
		if err != nil {
			return nil, 0, 0, err
		}
		total = n
		examined += len(rows)
		found = append(found, slices.DeleteFunc(rows, func(d domain.Notification) bool { return severity != "" && d.Severity != severity })...)
		if severity == "" || len(rows) == 0 || web.Offset(c)+examined >= total {
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
	Next             int64          `json:"-"` // when it is tried again, in milliseconds since the Unix epoch; 0 if it is not, or at once
}

// try is a try of a transmission. Nobody says that it reached no subscriber.
type try struct {
	domain.TransmissionRecord
	Nobody bool `json:"-"`
}

// findNextTries sets when transmissions are tried again. The API does not say it.
func (s notificationPages) findNextTries(all []transmissionView) {
	view, done := s.notes()
	defer done()
	now := s.Now().UnixMilli()
	for i := range all {
		if t, ok := view.State.Transmissions.Get(all[i].ID); ok && t.IsOpen() && t.Next > now {
			all[i].Next = t.Next
		}
	}
}

// complete sets MayResend and Nobody.
func (v *transmissionView) complete() {
	v.MayResend = domain.Transmission{Status: v.Status}.IsGivenUp()
	for i := range v.Records {
		v.Nobody = v.Records[i].ReachedNobody()
		v.Records[i].Nobody = v.Nobody
	}
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
				why = fmt.Sprintf("%s: %s", t.SubscriptionName, t.Records[len(t.Records)-1].Response)
			}
		case t.Status == domain.StatusSent || t.Status == domain.StatusAcknowledged:
			arrived++
		case wrong:
			failed++
			if why == "" {
				why = fmt.Sprintf("%s: %s", t.SubscriptionName, t.Records[len(t.Records)-1].Response)
			}
		default:
			waiting++
		}
	}
	return arrived, nobody, failed, waiting, why
}

// bannerOf says what came of a test.
func bannerOf(d notificationData) *banner {
	arrived, nobody, failed, waiting, why := countTransmissions(d.Transmissions)
	switch all := len(d.Transmissions); {
	case failed > 0:
		return &banner{"wrong", fmt.Sprintf("The test failed in %d of %d transmissions. %s", failed, all, why)}
	case waiting > 0, all == 0 && d.Notification.Status == domain.StatusNew:
		return &banner{"warning", "The test is under way. This page shows what comes of it."}
	case all == 0:
		return &banner{"wrong", "No subscription has matched the test. A locked subscription gets nothing."}
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
	d := notificationData{Notification: n, Transmissions: transmissions, Total: got.Total}
	d.Title, d.Device = s.titleOf(c.Request.Context(), n)
	if c.Query("test") != "" {
		d.Came = bannerOf(d)
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

// resend has one transmission of the notification sent again.
func (s notificationPages) resend(c *gin.Context) error {
	path := web.APIPath("transmission/id/", c.PostForm("transmission")) + "/resend"
	a := s.Call(c, notificationsService, http.MethodPost, path, nil)
	return s.Finish(c, a, "/notifications/"+url.PathEscape(c.Param("id")), "The notification is sent again.")
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
