package notifications

import (
	"ledge/domain"
	"ledge/handlers"
)

// notificationShape is a notification in requests and answers, its fields in the order of EdgeX 2.3.
type notificationShape struct {
	Created     int64    `json:"created,omitempty"`
	Modified    int64    `json:"modified,omitempty"`
	ID          string   `json:"id,omitempty"`
	Category    string   `json:"category,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	Content     string   `json:"content"`
	ContentType string   `json:"contentType,omitempty"`
	Description string   `json:"description,omitempty"`
	Sender      string   `json:"sender"`
	Severity    string   `json:"severity"`
	Status      string   `json:"status,omitempty"`
	// Acknowledged is of EdgeX 4, which always shows it; here an answer to who does not use it is as in EdgeX 2.3.
	Acknowledged bool `json:"acknowledged,omitempty"`
}

// addNotification is an element of POST /notification.
type addNotification struct {
	handlers.Head
	Notification notificationShape `json:"notification"`
}

type notificationAnswer struct {
	handlers.Envelope
	Notification notificationShape `json:"notification"`
}

// findNotifications is the body of GET /notification.
type findNotifications struct {
	handlers.Head
	QueryCondition struct {
		Category []string `json:"category"`
		// Start and End bound the created time, in milliseconds since the Unix epoch.
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	} `json:"queryCondition"`
}

// notification returns the entity that a request describes; its id and times are the caller's.
func (d notificationShape) notification() domain.Notification {
	return domain.Notification{
		ID: d.ID, Category: d.Category, Labels: d.Labels, Content: d.Content, ContentType: d.ContentType,
		Description: d.Description, Sender: d.Sender, Severity: d.Severity, Status: d.Status,
	}
}

func shapeNotification(d domain.Notification) notificationShape {
	return notificationShape{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Category: d.Category, Labels: d.Labels, Content: d.Content,
		ContentType: d.ContentType, Description: d.Description, Sender: d.Sender, Severity: d.Severity, Status: d.Status,
		Acknowledged: d.Acknowledged,
	}
}
