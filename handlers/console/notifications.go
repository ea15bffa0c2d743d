package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/entities"
)

// mostExamined bounds the notifications that a page looks at to find those with a severity, which has no index.
const mostExamined = 500

func (s *Console) notificationRoutes() []route {
	return []route{
		{"GET", "/notifications", domain.MayRead, s.share(s.notifications)},
		{"GET", "/notifications/+send", domain.MayChange, s.showSendNotification},
		{"POST", "/notifications/+send", domain.MayChange, s.sendNotification},
		{"GET", "/notifications/:id", domain.MayRead, s.share(s.notification)},
		{"POST", "/notifications/:id/acknowledge", domain.MayChange, s.acknowledge},
		{"POST", "/notifications/:id/delete", domain.MayChange, s.deleteNotification},
	}
}

type notificationsData struct {
	Notifications []domain.Notification
	Pager         listPager
	Query         url.Values
	Examined      int
	Period        period

	CategoriesInUse, LabelsInUse []option
}

// Get returns a filter.
func (d notificationsData) Get(name string) string { return d.Query.Get(name) }

// Severities are those to choose from.
func (notificationsData) Severities() []option {
	return []option{{"", "any"}, {domain.SeverityMinor, "minor"}, {domain.SeverityNormal, "normal"}, {domain.SeverityCritical, "critical"}}
}

// Statuses are those to choose from.
func (notificationsData) Statuses() []option {
	return []option{{"", "any"}, {domain.StatusNew, "new"}, {domain.StatusProcessed, "processed"}, {domain.StatusEscalated, "escalated"}}
}

// Acks are the answers to whether a notification is acknowledged.
func (notificationsData) Acks() []option {
	return []option{{"", "any"}, {"true", "acknowledged"}, {"false", "not acknowledged"}}
}

func (s *Console) notifications(c *gin.Context) {
	d := notificationsData{Query: c.Request.URL.Query(), Period: periodOf(c)}
	var err error
	if d.Period.status() == http.StatusOK {
		var total int
		if d.Notifications, total, d.Examined, err = s.findNotifications(c, d.Period); err != nil {
			s.failList(c, err)
			return
		}
		d.Pager = pagerOf(c, total, d.Examined)
	}
	if d.CategoriesInUse, d.LabelsInUse, err = s.tagsInUse(c); err != nil {
		s.fail(c, err)
		return
	}
	s.show(c, d.Period.status(), "notifications", Page{Title: "Notifications", Live: "notifications&transmissions", Data: d})
}

// rowOfNotification returns what a list shows of a notification.
func rowOfNotification(n *domain.Notification) domain.Notification {
	n.Matched = nil
	return cutRow(n)
}

func (s *Console) findNotifications(c *gin.Context, during period) (found []domain.Notification, total, examined int, err error) {
	filters := indexFilters(c, domain.IndexStatus, domain.IndexCategory, domain.IndexLabel, domain.IndexSubscription)
	if during.given() {
		filters = append(filters, domain.Between(during.first.UnixMilli(), during.last.UnixMilli()))
	}
	if ack := filterText(c, "ack"); ack == "true" || ack == "false" {
		filters = append(filters, domain.Filter{Index: domain.IndexAcknowledged, Value: domain.Acknowledged, Without: ack == "false"})
	}
	severity := filterText(c, "severity")
	for examined < mostExamined && len(found) < pageRows {
		page := domain.Page{Offset: offset(c) + examined, Limit: pageRows - len(found)}
		rows, n, err := list(s.memory(c), s.Notes, notificationKind, page, filters, rowOfNotification)
		if err != nil {
			return nil, 0, 0, err
		}
		total = n
		examined += len(rows)
		found = append(found, slices.DeleteFunc(rows, func(d domain.Notification) bool { return severity != "" && d.Severity != severity })...)
		if severity == "" || len(rows) == 0 || offset(c)+examined >= total {
			break
		}
	}
	return found, total, examined, nil
}

// transmissionView is a transmission as the API shows it to the user: what receivers have answered is not for every role.
type transmissionView struct {
	ID               string                      `json:"id"`
	Channel          domain.Channel              `json:"channel"`
	SubscriptionName string                      `json:"subscriptionName"`
	Records          []domain.TransmissionRecord `json:"records"`
	ResendCount      int                         `json:"resendCount"`
	Status           string                      `json:"status"`
}

type notificationData struct {
	Notification  domain.Notification
	Transmissions []transmissionView
	Total         int
	// Test reports whether the user has sent it as a test from the page of a subscription.
	Test bool
}

// came counts the transmissions that have arrived, that have failed, and that wait; why is the answer to the first that has failed.
func (d notificationData) came() (arrived, failed, waiting int, why string) {
	for _, t := range d.Transmissions {
		wrong := slices.ContainsFunc(t.Records, func(r domain.TransmissionRecord) bool { return r.Status == domain.StatusFailed })
		switch {
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
	return arrived, failed, waiting, why
}

// Came says what came of a test. class is that of its banner.
func (d notificationData) Came() (b banner) {
	arrived, failed, waiting, why := d.came()
	switch all := len(d.Transmissions); {
	case failed > 0:
		return banner{"wrong", fmt.Sprintf("The test failed in %d of %d transmissions. %s", failed, all, why)}
	case waiting > 0, all == 0 && d.Notification.Status == domain.StatusNew:
		return banner{"warning", "The test is under way. This page shows what comes of it."}
	case all == 0:
		return banner{"wrong", "No subscription has matched the test. A locked subscription gets nothing."}
	}
	if arrived == 1 {
		return banner{"notice", "The test was sent: 1 transmission."}
	}
	return banner{"notice", fmt.Sprintf("The test was sent: %d transmissions.", arrived)}
}

// banner is a sentence on top of a page, with the class that gives it its colour.
type banner struct{ Class, Text string }

func (s *Console) notification(c *gin.Context) {
	id := c.Param("id")
	var n domain.Notification
	row, err := entities.LookUp(s.memory(c), s.Notes, notificationKind.Table, id, &n)
	if err == nil && !row.OK {
		err = domain.Errorf(domain.NotFound, "There is no notification %.80q. It may have been removed by its age.", id)
	}
	k := forPage()
	if n.Matched = nil; err == nil {
		n = cutWith(k, &n)
		err = s.memory(c).Hold(2 * mostAnswer) // its text, and what is read from it
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	var got struct {
		Total         int                `json:"totalCount"`
		Transmissions []transmissionView `json:"transmissions"`
	}
	a := s.call(c, notificationsService, http.MethodGet, apiPath("transmission/notification/id/", id)+"?limit=50", nil)
	_ = json.Unmarshal(a.Body, &got) // the message says what is wrong
	transmissions := cutWith(&cutter{entries: pageRows, text: shownText, room: 4 * shownBytes}, &got.Transmissions)
	s.memory(c).Release()
	s.show(c, http.StatusOK, "notification", Page{
		Title: "Notification", Live: "notifications&transmissions", Message: a.Message, Left: k.note(apiPath("notification/id/", id)),
		Data: notificationData{n, transmissions, got.Total, c.Query("test") != ""},
	})
}

func (s *Console) acknowledge(c *gin.Context) {
	id, verb, notice := c.Param("id"), "acknowledge", "The notification is acknowledged."
	if c.PostForm("undo") != "" {
		verb, notice = "unacknowledge", "The notification is not acknowledged any more."
	}
	a := s.call(c, notificationsService, http.MethodPut, apiPath("notification/"+verb+"/ids/", id), nil)
	s.finish(c, a, "/notifications/"+url.PathEscape(id), "%s", notice)
}

func (s *Console) deleteNotification(c *gin.Context) {
	a := s.call(c, notificationsService, http.MethodDelete, apiPath("notification/id/", c.Param("id")), nil)
	s.finish(c, a, "/notifications", "The notification is deleted.")
}

// notificationForm is a notification as the user has entered it.
type notificationForm struct {
	Category, Labels, Severity, Sender, Description, Content, ContentType string
	Problems                                                              problems
	CategoriesInUse, LabelsInUse                                          []option
}

// Severities are those to choose from.
func (notificationForm) Severities() []option {
	return []option{{domain.SeverityNormal, "normal"}, {domain.SeverityMinor, "minor"}, {domain.SeverityCritical, "critical"}}
}

func (s *Console) showSendNotification(c *gin.Context) {
	u, _ := user(c)
	s.showNotificationForm(c, http.StatusOK, "", notificationForm{Severity: domain.SeverityNormal, Sender: u.Name})
}

func (s *Console) showNotificationForm(c *gin.Context, status int, message string, f notificationForm) {
	var err error
	if f.CategoriesInUse, f.LabelsInUse, err = s.tagsInUse(c); err != nil {
		s.fail(c, err)
		return
	}
	s.show(c, status, "notification_form", Page{Title: "Send a notification", Message: message, Data: f})
}

func (s *Console) sendNotification(c *gin.Context) {
	f := notificationForm{
		Category: strings.TrimSpace(c.PostForm("category")), Labels: c.PostForm("labels"), Severity: c.PostForm("severity"), Sender: c.PostForm("sender"),
		Description: c.PostForm("description"), Content: c.PostForm("content"), ContentType: strings.TrimSpace(c.PostForm("contentType")),
	}
	fields := map[string]any{"category": f.Category, "severity": f.Severity, "sender": f.Sender, "description": f.Description, "content": f.Content, "contentType": f.ContentType}
	if labels := splitLabels(f.Labels); len(labels) > 0 {
		fields["labels"] = labels
	}
	a, id := s.sendOne(c, fields)
	if !a.ok() {
		f.Problems = a.Problems
		s.showNotificationForm(c, a.Status, a.Message, f)
		return
	}
	s.done(c, "/notifications/"+id, "The notification is sent.")
}

func (s *Console) sendOne(c *gin.Context, fields map[string]any) (a answer, id string) {
	a = s.changeOne(c, notificationsService, http.MethodPost, api+"/notification", "notification", fields, "")
	var items []struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(a.Body, &items) == nil && len(items) == 1 {
		id = items[0].ID
	}
	return a, id
}
