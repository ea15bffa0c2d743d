package v2

import (
	"ledge/domain"
	"ledge/handlers"
)

// Watcher is a provision watcher in requests and answers, with the fields of domain.ProvisionWatcher in the same order.
type Watcher struct {
	Created             int64               `json:"created,omitempty"`
	Modified            int64               `json:"modified,omitempty"`
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

// AddWatcher says that a provision watcher is to be added, or was. EdgeX's OpenAPI document writes the key in lower case, EdgeX
// itself as here; a request may use either.
type AddWatcher struct {
	handlers.Head
	Watcher Watcher `json:"provisionWatcher"`
}

// UpdateWatcher says how a provision watcher is to change, or did: a field that is missing or null stays as it is.
type UpdateWatcher struct {
	handlers.Head
	Watcher WatcherPatch `json:"provisionWatcher"`
}

// WatcherPatch is the part of a provision watcher that changes.
type WatcherPatch struct {
	ID                  *string             `json:"id"`
	Name                *string             `json:"name"`
	Labels              []string            `json:"labels"`
	Identifiers         map[string]string   `json:"identifiers"`
	BlockingIdentifiers map[string][]string `json:"blockingIdentifiers"`
	ProfileName         *string             `json:"profileName"`
	ServiceName         *string             `json:"serviceName"`
	AdminState          *string             `json:"adminState"`
	AutoEvents          []domain.AutoEvent  `json:"autoEvents"`
}

// Entity returns the provision watcher that a request describes; its id and times are the caller's.
func (d Watcher) Entity() domain.ProvisionWatcher {
	d.Created, d.Modified = 0, 0
	return domain.ProvisionWatcher(d)
}

// OfWatcher returns a provision watcher as answers show it.
func OfWatcher(d domain.ProvisionWatcher) Watcher { return Watcher(d) }

// Patch returns what a request asks to be changed.
func (d WatcherPatch) Patch() domain.WatcherPatch {
	return domain.WatcherPatch{
		ID: d.ID, Name: d.Name, Labels: d.Labels, Identifiers: d.Identifiers, BlockingIdentifiers: d.BlockingIdentifiers,
		ServiceName: d.ServiceName, ProfileName: d.ProfileName, AdminState: d.AdminState, AutoEvents: d.AutoEvents,
	}
}
