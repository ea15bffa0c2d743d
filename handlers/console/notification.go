package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	past "ledge/domain/history"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
	"ledge/handlers/noticed"
)

// transmissionView is a transmission as the API shows it to the user: some roles do not see the answers of receivers.
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
	Device           string         `json:"-"` // its messages are sent in order; "" if it is not about a device
}

// try is a try of a transmission. Nobody says that it reached no subscriber.
type try struct {
	domain.TransmissionRecord
	Nobody bool `json:"-"`
}

// findNextTries sets the next tries of open transmissions, and their devices. The API does not have them.
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
	// Came is the result of a test that the user has sent from the page of a subscription; nil for another notification.
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
		soFar := ""
		if slices.ContainsFunc(own, func(v transmissionView) bool { return v.Status == domain.StatusResending }) {
			soFar = " so far, and is tried again"
		}
		return &banner{"wrong", fmt.Sprintf("The test failed in %d of %d transmissions%s. %s", failed, all, soFar, why)}
	case waiting > 0, all == 0 && n.Status == domain.StatusNew:
		return &banner{"warning", "The test is under way. This page shows the result."}
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
	slices.SortStableFunc(transmissions, func(a, b transmissionView) int {
		return cmp.Or(cmp.Compare(a.SubscriptionName, b.SubscriptionName), cmp.Compare(a.ID, b.ID))
	})
	d := notificationData{Notification: n, Transmissions: transmissions, Total: got.Total}
	d.Title, d.Device = s.titleOf(c.Request.Context(), n)
	if tested := noticed.Tested(n); tested != "" && c.Query("test") != "" {
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
	return s.Done(c, to, "The message is not tried now. It is being tried, or waits until an earlier one is sent or given up.")
}

func (s notificationPages) deleteNotification(c *gin.Context) error {
	a := s.Call(c, notificationsService, http.MethodDelete, web.APIPath("notification/id/", c.Param("id")), nil)
	return s.Finish(c, a, "/notifications", "The notification is deleted.")
}
