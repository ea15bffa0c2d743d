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
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

const (
	// mostExamined bounds the notifications that a page looks at to find those with a severity, a text or waiting messages, which have no
	// index. For a text it reads the event of a device's change.
	mostExamined = 250
	// mostSearched bounds the part of a notification's content in which a text is looked for, in bytes.
	mostSearched = 4 << 10
	// mostCounted bounds the transmissions of a notification that the list reads to count the messages that reached nobody. One of more
	// than mostCountedBytes, with many tries, counts as sent.
	mostCounted, mostCountedBytes = 20, 4 << 10
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
	Searched      bool // the rows were searched for a severity, a text, or messages that wait
	Filtered      bool // not all notifications are asked for
	Open          bool // the list is of notifications that are not acknowledged
	Filters       []web.Field
	Period        web.Period
}

// The filters by delivery: notifications with messages that were given up, or that wait.
const deliveryFailed, deliveryWaiting = "failed", "waiting"

// notificationFilters returns the inputs of the filters in a query, without the period.
func notificationFilters(q url.Values, categories, labels []web.Option) []web.Field {
	inputs := []web.Field{
		{Name: "text", Label: "Device or text", Type: "text"},
		{Name: "severity", Label: "Severity", Type: "select", Options: web.Labelled("", "any",
			domain.SeverityMinor, "minor", domain.SeverityNormal, "normal", domain.SeverityCritical, "critical")},
		{Name: "status", Label: "Status", Type: "select", Options: web.Labelled("", "any",
			domain.StatusNew, "new", domain.StatusProcessed, "processed", domain.StatusEscalated, "escalated")},
		{Name: "ack", Label: "Acknowledged", Type: "select", Options: web.Labelled("", "any",
			"true", "yes", "false", "no")},
		{Name: "delivery", Label: "Delivery", Type: "select", Options: web.Labelled("", "any",
			deliveryFailed, "failed", deliveryWaiting, "waiting")},
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
		var found []domain.Notification
		if found, total, err = s.findNotifications(c, &d); err == nil {
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

// matchedRow is a notification in the list. matches says that it has the severity of the filters, and waits if that is asked for.
type matchedRow struct {
	domain.Notification
	matches bool
	// lacked are words of the text that are not in its category, labels or sender; unseen are not in its description either, or in the
	// first bytes of its content.
	lacked, unseen []string
}

// rowOfNotification returns what a list shows of a notification.
func rowOfNotification(n *domain.Notification) domain.Notification {
	n.Matched = nil
	return web.CutRow(n)
}

// matchRow returns a function that makes rows. An empty severity matches all notifications.
func matchRow(severity string, waiting bool, text string) func(*domain.Notification) matchedRow {
	words := strings.Fields(strings.ToLower(text))
	return func(n *domain.Notification) matchedRow {
		row := matchedRow{matches: (severity == "" || n.Severity == severity) && (!waiting || n.Open > 0)}
		if row.matches {
			row.lacked = lackedBy(words, append(slices.Clone(n.Labels), n.Category, n.Sender)...)
			row.unseen = lackedBy(row.lacked, n.Description, n.Content[:min(len(n.Content), mostSearched)])
		}
		row.Notification = rowOfNotification(n)
		return row
	}
}

// lackedBy returns the words that none of some texts has, in lower or upper case.
func lackedBy(words []string, texts ...string) []string {
	if len(words) == 0 {
		return nil
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(all, w) })
}

// hasText reports whether the row of a notification has all words of the text. The row of a device's change shows its title.
func (s notificationPages) hasText(ctx context.Context, row matchedRow) bool {
	if len(row.lacked) > 0 {
		if title, _ := titleOfChange(ctx, s.changes, row.Cause); title != "" {
			return len(lackedBy(row.lacked, title)) == 0
		}
	}
	return len(row.unseen) == 0
}

// findNotifications returns the notifications of a page, and how many the indexes find. It sets d.Searched and d.Examined.
func (s notificationPages) findNotifications(c *gin.Context, d *notificationsData) (found []domain.Notification, total int, err error) {
	filters := web.IndexFilters(c, domain.IndexStatus, domain.IndexCategory, domain.IndexLabel, domain.IndexSubscription)
	if d.Period.Given() {
		filters = append(filters, domain.Between(d.Period.First.UnixMilli(), d.Period.Last.UnixMilli()))
	}
	attention, severity := attentionFilters(c)
	filters = append(filters, attention...)
	waiting, text := web.FilterText(c, "delivery") == deliveryWaiting, web.FilterText(c, "text")
	d.Searched = waiting || severity+text != ""
	for d.Examined < mostExamined && len(found) < web.PageRows {
		page := domain.Page{Offset: web.Offset(c) + d.Examined, Limit: web.PageRows - len(found)}
		rows, n, err := web.List(s.Memory(c), s.notes, entities.Notifications, page, filters, matchRow(severity, waiting, text))
		if err != nil {
			return nil, 0, err
		}
		total = n
		d.Examined += len(rows)
		for _, row := range rows {
			if row.matches && s.hasText(c.Request.Context(), row) {
				found = append(found, row.Notification)
			}
		}
		if !d.Searched || len(rows) == 0 || web.Offset(c)+d.Examined >= total {
			break
		}
	}
	return found, total, nil
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

// acknowledgeShown acknowledges the notifications of a page of the list.
func (s notificationPages) acknowledgeShown(c *gin.Context) error {
	ids := c.PostFormArray("id")
	if len(ids) == 0 || len(ids) > web.PageRows {
		text := fmt.Sprintf("The form has %d notifications; send 1 to %d.", len(ids), web.PageRows)
		return s.ShowError(c, http.StatusUnprocessableEntity, text)
	}
	a := s.Call(c, notificationsService, http.MethodPut, web.APIPath("notification/acknowledge/ids/", strings.Join(ids, ",")), nil)
	back, _ := web.BackTo(c, "/notifications")
	return s.Finish(c, a, back, "Acknowledged: %d.", len(ids))
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
