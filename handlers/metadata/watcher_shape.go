package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

// watcherShape is a provision watcher in requests and answers.
type watcherShape struct {
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
	AutoEvents          []autoEventShape    `json:"autoEvents,omitempty"`
}

// addWatcher is an element of POST /provisionwatcher. EdgeX's OpenAPI document writes the key in lower case, EdgeX
// itself as here; a request may use either.
type addWatcher struct {
	handlers.Head
	Watcher watcherShape `json:"provisionWatcher"`
}

// updateWatcher is an element of PATCH /provisionwatcher: a field that is missing or null stays as it is.
type updateWatcher struct {
	handlers.Head
	Watcher watcherPatchShape `json:"provisionWatcher"`
}

type watcherPatchShape struct {
	ID                  *string             `json:"id"`
	Name                *string             `json:"name"`
	Labels              []string            `json:"labels"`
	Identifiers         map[string]string   `json:"identifiers"`
	BlockingIdentifiers map[string][]string `json:"blockingIdentifiers"`
	ProfileName         *string             `json:"profileName"`
	ServiceName         *string             `json:"serviceName"`
	AdminState          *string             `json:"adminState"`
	AutoEvents          []autoEventShape    `json:"autoEvents"`
}

type watcherAnswer struct {
	handlers.Envelope
	Watcher watcherShape `json:"provisionWatcher"`
}

type watchersAnswer struct {
	handlers.ListEnvelope
	Watchers []watcherShape `json:"provisionWatchers"`
}

// watcher returns the entity that a request describes; its id and times are the caller's.
func (d watcherShape) watcher() domain.ProvisionWatcher {
	return domain.ProvisionWatcher{
		ID: d.ID, Name: d.Name, Labels: d.Labels, Identifiers: d.Identifiers, BlockingIdentifiers: d.BlockingIdentifiers,
		ServiceName: d.ServiceName, ProfileName: d.ProfileName, AdminState: d.AdminState, AutoEvents: autoEvents(d.AutoEvents),
	}
}

func shapeWatcher(d domain.ProvisionWatcher) watcherShape {
	return watcherShape{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Name: d.Name, Labels: d.Labels, Identifiers: d.Identifiers,
		BlockingIdentifiers: d.BlockingIdentifiers, ProfileName: d.ProfileName, ServiceName: d.ServiceName,
		AdminState: d.AdminState, AutoEvents: shapeAutoEvents(d.AutoEvents),
	}
}

func (d watcherPatchShape) patch() domain.WatcherPatch {
	return domain.WatcherPatch{
		ID: d.ID, Name: d.Name, Labels: d.Labels, Identifiers: d.Identifiers, BlockingIdentifiers: d.BlockingIdentifiers,
		ServiceName: d.ServiceName, ProfileName: d.ProfileName, AdminState: d.AdminState, AutoEvents: autoEvents(d.AutoEvents),
	}
}
