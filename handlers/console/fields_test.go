package console

import (
	"os"
	"slices"
	"testing"

	"ledge/handlers/console/web"
	"ledge/handlers/console/web/webtest"
)

// pageData has the data of each page.
var pageData = map[string]any{
	"device":            deviceData{},
	"device_commands":   commandsData{},
	"device_delete":     deletion{},
	"device_form":       deviceForm{Form: &web.Form{Extra: true}},
	"device_import":     importData{},
	"devices":           devicesData{},
	"devices_all":       runData{},
	"event":             eventData{},
	"history":           historyData{},
	"ledger":            ledgerData{},
	"notification":      notificationData{},
	"notification_form": &web.Form{},
	"notifications":     notificationsData{},
	"overview":          overviewData{},
	"profile":           profileData{},
	"profile_form":      profileForm{},
	"readings":          readingsData{},
	"refused":           refusedData{},
	"removed":           removedData{},
	"restore":           restoration{},
	"service":           &web.Form{Extra: serviceFacts{}},
	"subscription":      subscriptionData{},
	"subscription_form": subscriptionForm{},
	"subscriptions":     subscriptionsData{},
	"system":            systemData{},
	"user":              userData{},
	"users":             usersData{},
	"verify":            Verification{},
	"watcher":           &web.Form{Extra: callbacks{}},
}

// TestTemplatesCallNoMethod checks the names in the templates of this package. The packages of other pages check theirs.
func TestTemplatesCallNoMethod(t *testing.T) {
	others := webtest.CheckFields(t, pageData, os.DirFS("templates"), os.DirFS("web/templates"))
	if want := []string{"account", "again", "chart", "error", "jump", "list", "login", "retention"}; !slices.Equal(others, want) {
		t.Errorf("no data of the pages %v, want %v", others, want)
	}
}
