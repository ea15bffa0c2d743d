package delivery

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// The transmissions of a notification that was posted are there as soon as the answer is: a list waits for their record, but not for
// longer than 250 ms, since the disk may be slow or full.
func TestPostedTransmissionsAreShownAtOnce(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	p := ledgetest.Start(t, t.TempDir())
	p.SubscribeAll("alarms", "alarm", ledgetest.RestChannel(t, receiver.URL, "/"))
	const posts = 50
	for range posts {
		var items []struct{ ID string }
		a := p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", ledgetest.NotificationJSON("alarm", "c"), http.StatusCreated)
		if err := json.Unmarshal([]byte(a.Body), &items); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		all := p.Transmissions("all?limit=1000")
		shown := slices.ContainsFunc(all, func(s ledgetest.Transmission) bool {
			return s.NotificationID == items[0].ID && s.SubscriptionName == "alarms"
		})
		if !shown && time.Since(asked) < 250*time.Millisecond {
			t.Errorf("%s is not among the %d transmissions", items[0].ID, len(all))
		}
	}
	if all := p.Settled("alarms", posts); len(all) != posts {
		t.Errorf("%d transmissions, want %d", len(all), posts)
	}
}
