package console

import (
	"slices"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

// nameHint says which characters EdgeX takes in a name.
const nameHint = "Use letters, digits and - _ ~ : ; = only."

// The inputs that several forms have.
var (
	nameInput        = web.Field{Name: "name", Label: "Name", Required: true, Hint: nameHint + " You cannot change the name later."}
	descriptionInput = web.Field{Name: "description", Label: "Description"}
	labelsInput      = web.Field{Name: "labels", Label: "Labels", Hint: "Separate labels by commas."}
	stateInput       = web.Field{Name: "adminState", Label: "State", Type: "select", Value: domain.StateUnlocked, Options: web.LockOptions()}
)

var serviceInputs = web.Inputs[domain.DeviceService]{
	{Field: nameInput, New: true},
	{Field: web.Field{Name: "baseAddress", Label: "Base address", Required: true,
		Hint: "The URL at which Ledge calls the service, such as http://10.0.0.5:59999"}},
	{Field: descriptionInput, Exact: true},
	{Field: labelsInput, Exact: true},
	{Field: stateInput},
}

// newServicePages returns the pages of device services.
func newServicePages(site *web.Site, state entities.Reader, system System) web.Entity[domain.DeviceService] {
	return web.Entity[domain.DeviceService]{
		Site: site, State: state, Kind: entities.Services, One: "device service", Path: "/services", Add: "add",
		Filters: web.Labelled(domain.IndexLabel, ""), Confirm: "?",
		Empty: "There is no device service yet.", EmptyAdd: ` <a href="/services/+add">Add a device service</a>.`,
		Columns: web.Columns("baseAddress", "Base address", "adminState", "State", "labels", "Labels", "modified", "Changed"),
		Page:    "service", Service: metadataService, API: "deviceservice", Key: "service", Inputs: serviceInputs,
		Prepare: func(c *gin.Context, f *web.Form, d *domain.DeviceService) (err error) {
			var facts serviceFacts
			if facts.BuiltIn = f.Texts["name"] == domain.DeviceREST; facts.BuiltIn {
				f.Field("baseAddress").Hint = "The URL at which other programs post values. device-rest is part of Ledge: " +
					"Ledge calls it only if this is the URL of another program."
				f.Confirm = ""
			}
			if d != nil {
				facts.LastConnected, facts.LastReported, facts.Callbacks = d.LastConnected, d.LastReported, callbacksOf(c, system, d.Name, "")
				facts.Devices, err = countDevices(state, d.Name)
			}
			f.Extra = facts
			return err
		},
	}
}

// serviceFacts are shown beside the form of a device service.
type serviceFacts struct {
	BuiltIn                     bool // it is part of Ledge
	LastConnected, LastReported int64
	Devices                     int
	Callbacks                   callbacks
}

// countDevices returns how many devices a service has.
func countDevices(state entities.Reader, service string) (n int, err error) {
	view, done := state()
	defer done()
	_, n, err = view.Lists.Keys(domain.ListDevices, domain.Page{}, domain.Filter{Index: domain.IndexService, Value: service})
	return n, err
}

// callbacks are the last calls of a device service, and the number of waiting calls.
type callbacks struct {
	Service string
	Last    []Callback
	Waiting int
}

// callbacksOf returns the last calls of a service, as the user of a request may see them. If kind is not empty, it returns only those
// about entities of that kind.
func callbacksOf(c *gin.Context, system System, service, kind string) callbacks {
	last, waiting := system.Callbacks(service)
	if kind != "" {
		last = slices.DeleteFunc(last, func(one Callback) bool { return one.Kind != kind })
	}
	if u, _ := web.User(c); !u.Role.May(domain.MayChange) {
		for i := range last {
			last[i].Answer = domain.HiddenAnswer
		}
	}
	return callbacks{service, last, waiting}
}
