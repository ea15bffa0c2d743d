package domain

// ProvisionWatcher tells a device service which devices that it discovers are to be added, and with which profile. Its fields have the
// order of EdgeX 2.3.
type ProvisionWatcher struct {
	// Created and Modified are milliseconds since the Unix epoch.
	Created  int64    `json:"created" order:"2"`
	Modified int64    `json:"modified" order:"2"`
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Labels   []string `json:"labels,omitempty"`
	// Identifiers are regular expressions by property: what a discovered device must match in each.
	Identifiers map[string]string `json:"identifiers"`
	// BlockingIdentifiers are values by property: a device that has one of them is left out although it matches.
	BlockingIdentifiers map[string][]string `json:"blockingIdentifiers,omitempty"`
	ProfileName         string              `json:"profileName" order:"1"`
	ServiceName         string              `json:"serviceName"`
	// AdminState is that of the devices that are added.
	AdminState string      `json:"adminState" order:"1"`
	AutoEvents []AutoEvent `json:"autoEvents,omitempty" order:"1"`
}
