package jump

import (
	"strings"

	"ledge/domain"
)

// place is a page, or a part of one, that is not in the menu, with the right that it needs. Words find it beside those of its label.
type place struct {
	label, path, words string
	right              domain.Right
}

// places lists the places by the order of the menu. A path with a fragment leads to the part of the page with this id.
var places = []place{
	{"Add a device", "/devices/+add", "new create register", domain.MayChange},
	{"Import devices", "/devices/+import", "csv yaml json toml upload file table list add", domain.MayChange},
	{"Refused events", "/readings/refused", "message bus errors edgex", domain.MayRead},
	{"Upload a profile", "/profiles/+upload", "new add create import yaml file device", domain.MayChange},
	{"Add a device service", "/services/+add", "new create register", domain.MayChange},
	{"Add a provision watcher", "/watchers/+add", "new create discovery", domain.MayChange},
	{"Add a subscription", "/subscriptions/+add", "new create channel zeromq rest mqtt email mail webhook alert", domain.MayChange},
	{"Send a notification", "/notifications/+send", "new add create post message alert", domain.MayChange},
	{"Verify the chain", "/verify", "record ledger log hash audit integrity check damage verification", domain.MayAudit},
	{"Tokens", "/users#tokens", "api access program secret key", domain.MayAdminister},
	{"Add a token", "/users#add-token", "new create api access program", domain.MayAdminister},
	{"Add a user", "/users#add-user", "new create account role password login", domain.MayAdminister},
	{"My account", "/account", "password change login sessions profile", domain.MayRead},
	{"Access", "/system#access", "secure login open tls api", domain.MayRead},
	{"OpenAPI documents", "/system#apis", "apis rest swagger docs documentation download", domain.MayRead},
	{"Disk", "/system#disk", "space free storage full size", domain.MayRead},
	{"Settings", "/system#settings", "configuration options flags environment", domain.MayRead},
}

// findPlaces returns the places that a role may see and a text finds: by their labels alone, or else with their other words. Each word of
// the text must begin a word. There are mostOfKind at most.
func findPlaces(text string, role domain.Role, byLabel bool) (found []Found) {
	for _, p := range places {
		if role.May(p.right) && beginsWords(p.label, text) == byLabel && beginsWords(p.label+" "+p.words, text) && len(found) < mostOfKind {
			found = append(found, Found{"Page", p.label, p.path})
		}
	}
	return found
}

// beginsWords reports whether each word of a lower-case text begins a word of words.
func beginsWords(words, text string) bool {
	words = " " + strings.ToLower(words)
	for word := range strings.FieldsSeq(text) {
		if !strings.Contains(words, " "+word) {
			return false
		}
	}
	return true
}
