package console

import (
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

var watcherInputs = web.Inputs[domain.ProvisionWatcher]{
	{Field: nameInput, New: true},
	{Field: web.Field{Name: "serviceName", Label: "Device service", Required: true}},
	{Field: web.Field{Name: "profileName", Label: "Device profile", Required: true}},
	{Field: web.Field{Name: "identifiers", Label: "Identifiers", Type: "textarea", Required: true,
		Hint: "One property=pattern on each line. A device must match all patterns, which are regular expressions."}, Exact: true},
	{Field: web.Field{Name: "blockingIdentifiers", Label: "Blocking identifiers", Type: "textarea",
		Hint: "One property=value on each line. The service does not add a device with one of these values."}, Exact: true},
	{Field: labelsInput, Exact: true},
	{Field: web.Field{Name: "adminState", Label: "State of the devices that are added", Type: "select", Value: domain.StateUnlocked,
		Options: web.LockOptions()}},
}

// newWatcherPages returns the pages of provision watchers.
func newWatcherPages(site *web.Site, state entities.Reader, system System) web.Entity[domain.ProvisionWatcher] {
	return web.Entity[domain.ProvisionWatcher]{
		Site: site, State: state, Kind: entities.Watchers, One: "provision watcher", Path: "/watchers", Add: "add",
		Filters: web.Labelled(domain.IndexLabel, "", domain.IndexProfile, "", domain.IndexService, ""), Confirm: "? Its devices stay.",
		Empty:    "There is no provision watcher. It tells a device service which devices to add when it finds them.",
		EmptyAdd: ` <a href="/watchers/+add">Add one</a>.`,
		Columns:  web.Columns("serviceName", "Service", "profileName", "Profile", "adminState", "State", "modified", "Changed"),
		Page:     "watcher", Service: metadataService, API: "provisionwatcher", Key: "provisionWatcher", Inputs: watcherInputs,
		Prepare: func(c *gin.Context, f *web.Form, _ *domain.ProvisionWatcher) error {
			if !f.New() {
				f.Extra = callbacksOf(c, system, f.Texts["serviceName"], "watcher")
			}
			view, done := state()
			defer done()
			for list, name := range map[string]string{domain.ListServices: "serviceName", domain.ListProfiles: "profileName"} {
				names, _, err := view.Lists.Keys(list, domain.Page{Limit: web.MostSuggested})
				if err != nil {
					return err
				}
				f.Field(name).Options = web.OptionsOf(names...)
			}
			return nil
		},
	}
}
