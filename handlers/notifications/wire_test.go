package notifications

import (
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
)

// What EdgeX 2.3 answers with 400 before it looks at what is there, or for the whole request.
func TestRefusedAsInEdgeX(t *testing.T) {
	f := mustNotifications(t)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/v2/notification/subscription/name/nobody?offset=x", "", 400, "offset"},
		{"GET", "/api/v2/notification/subscription/name/nobody?limit=-2", "", 400, "limit"},
		{"GET", "/api/v2/notification/subscription/name/nobody", "", 404, "nobody"},
		{"PATCH", "/api/v2/subscription", `[{"apiVersion":"v2","subscription":{"name":"s","categories":[],"labels":[]}}]`, 400, "[0].subscription.categories: is empty, and so is labels"},
		{"PATCH", "/api/v2/subscription", `[{"apiVersion":"v2","subscription":{"name":"s","labels":[null]}}]`, 400, "[0].subscription.labels[0]: is null"},
		{"POST", "/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"c","content":" \t\n ","sender":"s","severity":"NORMAL"}}]`, 400, "[0].notification.content: is only white space"},
		{"POST", "/api/v2/notification", `[{"apiVersion":"v2","notfication":{"category":"c"}}]`, 400, "[0].notfication: is an unknown key"},
	} {
		w := handlerstest.Serve(f, tt.method, tt.path, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tt.method, tt.path+tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
}
