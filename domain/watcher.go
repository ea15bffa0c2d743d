package domain

import (
	"fmt"
	"maps"
	"slices"
)

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

func (d *ProvisionWatcher) checkFields(c *checking) {
	c.checkFilled("identifiers", len(d.Identifiers), "at least one", `, such as {"address":"10\\.0\\.0\\.[0-9]+"}`)
	c.checkIdentifiers(d.Identifiers)
	c.checkField("serviceName", d.ServiceName, (*Problems).checkName)
	c.checkField("profileName", d.ProfileName, (*Problems).checkName)
	c.checkState("adminState", d.AdminState, StateLocked, StateUnlocked)
	c.checkAutoEvents(d.AutoEvents)
}

// Check notes what is wrong with a provision watcher on its own; whether its profile and service exist is Decide's
// question.
func (d ProvisionWatcher) Check() Problems {
	c := newChecking(d.ID, d.Name)
	d.checkFields(&c)
	return c.Problems
}

// checkIdentifiers wants a key and a value, as EdgeX 2.3 does: it leaves it to device services whether a value is a
// regular expression.
func (p *Problems) checkIdentifiers(identifiers map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(identifiers)) {
		if key == "" {
			p.Add("identifiers", "has an empty key; give the name of a property")
		}
		p.checkText(fmt.Sprintf("identifiers[%.80s]", key), identifiers[key])
	}
}
