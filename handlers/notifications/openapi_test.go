package notifications

import (
	"net/http"
	"os"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// contract is the document of this package: what the tests ask and are answered is held to it.
var contract = handlerstest.LoadContract(document)

func TestMain(m *testing.M) { os.Exit(contract.Run(m)) }

// exemplary returns support-notifications with what the examples of the document need beside the usual.
func exemplary(tb testing.TB, change func(*handlers.Options)) (http.Handler, []*handlerstest.Log) {
	f := mustNotifications(tb, change)
	f.notices.Given(tb, domain.AddNotification{Notification: domain.Notification{
		ID: "6877ff35-5566-5d14-a992-79fbb18d8d4a", Category: "c", Content: "text", Sender: "me", Severity: "NORMAL", Status: "NEW",
	}})
	sent := domain.Transmission{
		ID: "1cf4a2f6-5566-4d14-a992-79fbb18d8d4b", NotificationID: "6877ff35-5566-5d14-a992-79fbb18d8d4a", SubscriptionName: "s-1",
		Channel: domain.Channel{Type: "ZeroMQ", Host: "*", Port: 5563, Topic: "t"}, Status: "SENT", Created: 2,
	}
	failed := sent
	failed.ID, failed.Status = "1cf4a2f6-5566-4d14-a992-79fbb18d8d4c", "FAILED"
	f.notices.Given(tb, domain.ProcessNotification{ID: sent.NotificationID, Transmissions: []domain.Transmission{sent, failed}})
	return f, []*handlerstest.Log{f.events, f.notices}
}

func TestExamples(t *testing.T) { contract.DriveExamples(t, exemplary) }

func TestDocumentedFailures(t *testing.T) { contract.DriveFailures(t, exemplary) }

func TestDocument(t *testing.T) {
	s := New(handlerstest.Options("support-notifications"), nil, nil, nil, nil, nil, nil, nil, nil).(*handlers.Service)
	contract.CheckDocument(t, s.Routes(), map[string]any{
		"AddSubscription":    handlers.EntityIn[subscriptionShape]("subscription").Shape(),
		"UpdateSubscription": handlers.PatchIn[subscriptionShape]("subscription").Shape(), "AddNotification": addNotification{},
		"FindNotifications": findNotifications{}, "Secret": handlers.SecretRequest{},
	})
}

func TestPage(t *testing.T) {
	h, _ := exemplary(t, func(*handlers.Options) {})
	handlerstest.CheckPage(t, h)
}
