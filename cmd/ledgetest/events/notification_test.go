package events

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain/history"
)

// notificationHistory reads all pages of the history of a notification, as the types of the events and the values that they change.
func notificationHistory(p *ledgetest.Node, id string, limit int) (lines []string) {
	p.TB.Helper()
	for before := ""; ; {
		path := fmt.Sprintf("%s/api/v2/ledger/history/notification/%s?limit=%d%s", p.Metadata, id, limit, before)
		a := p.Call(http.MethodGet, path, "", "")
		var page history.Page
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil || a.Status != http.StatusOK || page.Incomplete != "" {
			p.TB.Fatalf("%s: %d %.300s: %v", path, a.Status, a.Body, err)
		}
		for _, e := range page.Entries {
			line := fmt.Sprint(e.Sequence, " ", e.Type)
			for _, f := range e.Changes {
				if f.Field == "acknowledged" || strings.HasSuffix(f.Field, "status") {
					line += fmt.Sprintf(" %s: %s→%s", f.Field, f.Was, f.Is)
				}
			}
			lines = append(lines, line)
		}
		if before = fmt.Sprint("&before=", page.Before); page.Before == 0 {
			return lines
		}
	}
}

// TestHistoryOfNotifications acknowledges two notifications at once, each with a transmission that fails. The history of each has the
// common event. So has the log of events, for the API and for the command.
func TestHistoryOfNotifications(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--resend-limit", "0")
	ledgetest.SubscribeElsewhere(p)
	p.Notify("other", "unheard")
	p.Notify("elsewhere", "first", "second")
	var ids []string
	for _, sent := range p.Settled("elsewhere", 2) {
		ids = append(ids, sent.NotificationID)
	}
	acknowledge := p.Notifications + "/api/v2/notification/acknowledge/ids/" + strings.Join(ids, ",")
	if a := p.Call(http.MethodPut, acknowledge, "", ""); a.Status != http.StatusMultiStatus && a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	sequence := regexp.MustCompile(`\d+ `)
	transmission := regexp.MustCompile(`transmissions\.[0-9a-f-]{36}`)
	want := []string{
		"notifications.acknowledged acknowledged: →true",
		`transmission.tried status: "NEW"→"PROCESSED" transmissions.ID.status: "RESENDING"→"FAILED"`,
		`notification.processed transmissions.ID.status: →"RESENDING"`,
		`notification.added status: →"NEW"`,
	}
	for _, id := range ids {
		lines := notificationHistory(p, id, 20)
		var got []string
		for _, line := range lines {
			got = append(got, sequence.ReplaceAllString(transmission.ReplaceAllString(line, "transmissions.ID"), ""))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if pages := notificationHistory(p, id, 1); len(pages) != len(want) || pages[0] != lines[0] || pages[3][:1] != lines[3][:1] {
			t.Errorf("in pages of one event: got\n%s", strings.Join(pages, "\n"))
		}
		if seqs := readAll(p, "log=notifications&entity=notification&name="+id, 10); len(seqs) != len(want) {
			t.Errorf("the log has events %v of %s", seqs, id)
		}
		out, errs, code := ledgetest.Run(t, "log", "--data-dir", dir, "--entity", "notification", "--name", id)
		if n := strings.Count(out, "\n"); n < len(want) || code != 0 {
			t.Errorf("ledge log: %d\n%s%s", code, out, errs)
		}
		out, errs, code = ledgetest.Run(t, "history", "notification", id, "--data-dir", dir)
		if !strings.Contains(out, "  acknowledged: nothing → true\n") || strings.Count(out, "event ") != len(want) || code != 0 {
			t.Errorf("ledge history: %d\n%s%s", code, out, errs)
		}
	}
	p.Call(http.MethodDelete, p.Notifications+"/api/v2/notification/id/"+ids[0], "", "")
	a := p.Call(http.MethodGet, p.Metadata+"/api/v2/ledger/history/notification/"+ids[0], "", "")
	if a.Status != http.StatusNotFound || !strings.Contains(a.Body, "is not kept any more") {
		t.Errorf("after its removal: %d %s", a.Status, a.Body)
	}
	if seqs := readAll(p, "log=notifications&entity=notification&name="+ids[0], 10); len(seqs) != len(want)+1 {
		t.Errorf("after its removal the log has events %v of it", seqs)
	}
}
