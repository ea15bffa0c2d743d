package v2

import "ledge/domain"

// Watcher is a provision watcher in requests and answers, with the fields of domain.ProvisionWatcher in the same order.
type Watcher struct {
	Created             int64               `json:"created,omitempty" patch:"-"`
	Modified            int64               `json:"modified,omitempty" patch:"-"`
	ID                  string              `json:"id,omitempty"`
	Name                string              `json:"name"`
	Labels              []string            `json:"labels,omitempty"`
	Identifiers         map[string]string   `json:"identifiers"`
	BlockingIdentifiers map[string][]string `json:"blockingIdentifiers,omitempty"`
	ProfileName         string              `json:"profileName"`
	ServiceName         string              `json:"serviceName"`
	AdminState          string              `json:"adminState"`
	AutoEvents          []domain.AutoEvent  `json:"autoEvents,omitempty"`
}

// Entity returns the provision watcher that a request describes; its id and times are the caller's.
func (d Watcher) Entity() domain.ProvisionWatcher { return domain.ProvisionWatcher(d) }

// OfWatcher returns a provision watcher as answers show it.
func OfWatcher(d domain.ProvisionWatcher) Watcher { return Watcher(d) }
