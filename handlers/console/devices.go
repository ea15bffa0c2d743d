package console

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console/devicesearch"
	"ledge/handlers/console/silence"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

// mostPicked bounds the names that a picker suggests.
const mostPicked = 300

// devices reads and changes devices, for their pages.
type devices struct {
	*web.Site
	state entities.Reader
}

// deviceList is the list of devices.
type deviceList struct {
	devices
	listing *devicesearch.Index
	silent  *silence.Finder
}

func (s deviceList) Routes() []web.Route {
	return []web.Route{
		web.Get("/devices", domain.MayRead, s.Share(s.showDevices)),
		web.Post("/devices", domain.MayChange, s.changeDevices),
	}
}

// devicesData is the list of devices with its filters.
type devicesData struct {
	devicesearch.Result
	Query              url.Values
	Profiles, Services []web.Option
	Filtered           bool
	Path               string
	Silent             silence.Result
}

// Get returns a filter.
func (d devicesData) Get(name string) string { return d.Query.Get(name) }

// States are those to filter by.
func (devicesData) States() []web.Option {
	return web.Labelled("", "any", "UNLOCKED", "unlocked", "LOCKED", "locked", "UP", "up", "DOWN", "down", "UNKNOWN", "unknown",
		stateSilent, "silent")
}

// stateSilent is the filter of devices that are silent for longer than usual. No device has this state.
const stateSilent = "SILENT"

// Silence is since when a device is silent; nil if it is not, or the list is not of silent devices.
func (d devicesData) Silence(name string) *silence.Silence {
	if one, ok := d.Silent.Devices[name]; ok {
		return &one
	}
	return nil
}

// OnlySilent reports whether the list is of silent devices.
func (d devicesData) OnlySilent() bool { return d.Get("state") == stateSilent }

// Looking reports whether the list is of silent devices and it is not known yet which these are.
func (d devicesData) Looking() bool { return d.OnlySilent() && !d.Silent.Known }

// Sorts are the orders.
func (devicesData) Sorts() []web.Option {
	return web.Labelled("name", "name", "-name", "name, Z first", "changed", "changed, newest first", "-changed", "changed, oldest first",
		"profile", "profile", "service", "service", "state", "state")
}

// At is the address of the list with one parameter changed.
func (d devicesData) At(name, value string) template.URL {
	return web.Address("/devices", d.Query, name, value)
}

func (s deviceList) showDevices(c *gin.Context) error {
	return s.listDevices(c, http.StatusOK, "")
}

func (s deviceList) listDevices(c *gin.Context, status int, message string) error {
	q := web.Filters(c, "q", "label", "profile", "service", "state", "sort", "after", "before")
	if !slices.Contains(devicesearch.Sorts, strings.TrimPrefix(q.Get("sort"), "-")) {
		q.Del("sort")
	}
	d := devicesData{Query: q}
	query := devicesearch.Query{
		Words: strings.Fields(strings.ToLower(q.Get("q"))), Label: q.Get("label"), Profile: q.Get("profile"), Service: q.Get("service"),
		State: strings.ToUpper(q.Get("state")), Sort: q.Get("sort"), After: q.Get("after"), Before: q.Get("before"), Limit: web.PageRows,
	}
	var err error
	if query.State == stateSilent {
		if d.Silent, err = s.silent.Find(c.Request.Context()); err != nil {
			return err
		}
		query.State, query.Only = "", func(name string) bool { return d.Silence(name) != nil }
	}
	d.Result, err = s.listing.Find(c.Request.Context(), query)
	if err == nil {
		d.Profiles, d.Services, err = s.pickers()
	}
	if err != nil {
		return err
	}
	d.Filtered = q.Get("q")+q.Get("label")+q.Get("profile")+q.Get("service")+q.Get("state") != ""
	return s.Show(c, status, "devices", web.Page{Title: "Devices", Live: "devices", Message: message, Data: d})
}

// pickers returns the names of profiles and services to choose from.
func (s devices) pickers() (profiles, services []web.Option, err error) {
	view, done := s.state()
	defer done()
	for list, into := range map[string]*[]web.Option{domain.ListProfiles: &profiles, domain.ListServices: &services} {
		names, _, err := view.Lists.Keys(list, domain.Page{Limit: mostPicked})
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(names, devicesearch.Natural)
		*into = web.OptionsOf(names...)
	}
	return profiles, services, nil
}

// changeDevices does the same with all devices that are marked in the list.
func (s deviceList) changeDevices(c *gin.Context) error {
	names := c.PostFormArray("name")
	back := "/devices"
	if u, err := url.Parse(c.PostForm("back")); err == nil && u.Path == back && u.RawQuery != "" {
		back += "?" + u.RawQuery
	}
	label := strings.TrimSpace(c.PostForm("label"))
	action, words := s.deviceAction(c, c.PostForm("action"), label)
	switch {
	case len(names) == 0:
		return s.listDevices(c, http.StatusUnprocessableEntity, "No device is marked. Mark the devices first, then choose what to do.")
	case len(names) > web.PageRows:
		return s.listDevices(c, http.StatusUnprocessableEntity,
			fmt.Sprintf("%d devices are marked; change at most %d at a time.", len(names), web.PageRows))
	case action == nil:
		return s.listDevices(c, http.StatusUnprocessableEntity, words)
	}
	var wrong []string
	for _, name := range names {
		if a := action(name); !a.OK() {
			wrong = append(wrong, fmt.Sprintf("%s: %s", name, a.Message))
		}
	}
	if len(wrong) > 0 {
		return s.listDevices(c, http.StatusUnprocessableEntity,
			fmt.Sprintf("%d of %d devices are %s. Refused: %s", len(names)-len(wrong), len(names), words, strings.Join(wrong, " · ")))
	}
	if len(names) == 1 {
		return s.Done(c, back, "1 device is %s.", words)
	}
	return s.Done(c, back, "%d devices are %s.", len(names), words)
}

// deviceAction returns the function for an action and the participle for its notice. For an unknown action do is nil and words the error.
func (s deviceList) deviceAction(c *gin.Context, action, label string) (do func(name string) web.Answer, words string) {
	patch := func(name, field string, value any, header ...string) web.Answer {
		return s.patchDevice(c, map[string]any{"name": name, field: value}, header...)
	}
	switch action {
	case "lock":
		return func(name string) web.Answer { return patch(name, "adminState", domain.StateLocked) }, "locked"
	case "unlock":
		return func(name string) web.Answer { return patch(name, "adminState", domain.StateUnlocked) }, "unlocked"
	case "delete":
		return func(name string) web.Answer {
			return s.Call(c, metadataService, http.MethodDelete, web.APIPath("device/name/", name), nil)
		}, "deleted"
	case "label", "unlabel":
		if label == "" {
			return nil, "Write the label first."
		}
		return func(name string) web.Answer {
			device, revision, err := s.device(c, name)
			if err != nil {
				return web.Answer{Status: web.StatusOf(domain.CodeOf(err)), Message: err.Error()}
			}
			labels := slices.DeleteFunc(slices.Clone(device.Labels), func(l string) bool { return l == label })
			if action == "label" {
				labels = append(labels, label)
			}
			return patch(name, "labels", append([]string{}, labels...), "If-Match", etag(revision))
		}, map[string]string{"label": "labelled", "unlabel": "without the label"}[action]
	}
	return nil, "Choose what to do with the marked devices."
}

// patchDevice changes fields of a device.
func (s devices) patchDevice(c *gin.Context, fields map[string]any, header ...string) web.Answer {
	body := []any{map[string]any{"apiVersion": handlers.V2, "device": fields}}
	return s.Call(c, metadataService, http.MethodPatch, web.API+"/device", body, header...)
}

// device returns a whole device with its revision.
func (s devices) device(c *gin.Context, name string) (d domain.Device, revision uint64, err error) {
	d, row, err := web.Read(s.Memory(c), s.state, entities.Devices.Table, "device", name)
	return d, row.Revision, err
}

func etag(revision uint64) string { return fmt.Sprintf("%q", fmt.Sprint(revision)) }
