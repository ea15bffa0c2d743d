package notifications

import (
	"context"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/handlerstest"
)

// tokenIsRole takes the name of a role for a token.
type tokenIsRole struct{}

func (tokenIsRole) Bearer(_ context.Context, token, _ string) (domain.Identity, error) {
	return domain.Identity{Actor: "token:" + token, Role: domain.Role(token)}, nil
}

func (tokenIsRole) Certificate(*x509.Certificate) (domain.Identity, error) {
	return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the certificate is not known")
}

func (tokenIsRole) Password(context.Context, string, string, string) (domain.Identity, error) {
	return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the name or the password is wrong")
}

func (tokenIsRole) Login(context.Context, string, string, string) (string, time.Time, error) {
	return "", time.Time{}, domain.Errorf(domain.Unauthenticated, "the name or the password is wrong")
}

// Each path that shows transmissions shows what receivers answered to operators and administrators only.
func TestAnswersOfReceiversAreHidden(t *testing.T) {
	const secret = "what the receiver answered"
	notices, events := handlerstest.NewLog(), handlerstest.NewLog()
	sent := domain.Transmission{
		ID: handlerstest.ID(300), NotificationID: handlerstest.ID(301), SubscriptionName: "s-1", Status: "SENT", Created: 5,
		Records: []domain.TransmissionRecord{{Status: "SENT", Response: secret, Sent: 5}},
	}
	notices.Given(t, domain.AddNotification{Notification: domain.Notification{
		ID: sent.NotificationID, Sender: "x", Content: "c", Severity: "NORMAL", Category: "DEVICE_CHANGED", Status: "NEW", Created: 5,
	}}, domain.ProcessNotification{ID: sent.NotificationID, Transmissions: []domain.Transmission{sent}})
	for _, open := range []bool{false, true} {
		o := handlerstest.Options("support-notifications")
		o.Access = &access.Access{Authenticator: tokenIsRole{}, Open: open}
		s := New(o, events.View, events, events.Past(), notices.View, notices, &ports{}, &replays{}, stuck{}).(*handlers.Service)
		for _, route := range s.Routes() {
			path := route.Path
			if route.Method != "GET" || !strings.Contains(path, "/transmission/") && !strings.Contains(path, "/notification") {
				continue
			}
			path = strings.NewReplacer(":name", "s-1", ":id", sent.ID, ":status", "SENT", ":start", "1", ":end", "9", ":category", "DEVICE_CHANGED", ":label", "l").Replace(path)
			if strings.HasSuffix(path, "/notification/id/"+sent.ID) {
				path = strings.Replace(path, sent.ID, sent.NotificationID, 1)
			}
			for _, role := range []domain.Role{domain.Viewer, domain.Auditor, domain.Operator, domain.Admin} {
				w := handlerstest.Serve(s, "GET", path, "", "Authorization: Bearer "+string(role))
				shows := strings.Contains(w.Body.String(), secret)
				want := strings.Contains(path, "/transmission/") && (open || role == domain.Operator || role == domain.Admin)
				if strings.Contains(path, "/transmission/") && w.Code != 200 || shows != want {
					t.Errorf("open %v, %s as %s: got %d %s, want the answer %v", open, path, role, w.Code, w.Body, want)
				}
				if strings.Contains(path, "/transmission/") && !want && !strings.Contains(w.Body.String(), "hidden; it needs the role operator or admin") {
					t.Errorf("%s as %s: got %s", path, role, w.Body)
				}
			}
		}
	}
}
