package domain

// ProvisionWatcher tells a device service which devices that it discovers are to be added, and with which profile.
type ProvisionWatcher struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Labels []string `json:"labels,omitempty"`
	// Identifiers are regular expressions by property: what a discovered device must match in each.
	Identifiers map[string]string `json:"identifiers"`
	// BlockingIdentifiers are values by property: a device that has one of them is left out although it matches.
	BlockingIdentifiers map[string][]string `json:"blockingIdentifiers,omitempty"`
	ServiceName         string              `json:"serviceName"`
	ProfileName         string              `json:"profileName"`
	// AdminState is that of the devices that are added.
	AdminState string      `json:"adminState"`
	AutoEvents []AutoEvent `json:"autoEvents,omitempty"`
	// Created and Modified are milliseconds since the Unix epoch.
	Created  int64 `json:"created"`
	Modified int64 `json:"modified"`
}
