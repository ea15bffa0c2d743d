package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console/devicecommands"
	"ledge/handlers/console/devicesearch"
)

const (
	// pageRows is how many rows of a list a page shows.
	pageRows = 50
	// mostPicked bounds the names that a picker suggests.
	mostPicked = 300
	// mostSearched bounds the text of a search and of each filter, in bytes.
	mostSearched = 300
)

func (s *Console) deviceRoutes() []route {
	commands := newDeviceCommands(s)
	return []route{
		{"GET", "/devices", domain.MayRead, s.share(s.showDevices)},
		{"POST", "/devices", domain.MayChange, s.changeDevices},
		// No device can have a name with a plus sign.
		{"GET", "/devices/+add", domain.MayChange, s.showAddDevice},
		{"POST", "/devices/+add", domain.MayChange, s.addDevice},
		{"GET", "/devices/+import", domain.MayChange, s.showImport},
		{"POST", "/devices/+import", domain.MayChange, s.importDevices},
		{"GET", "/devices/:name", domain.MayRead, s.share(s.showDevice)},
		{"GET", "/devices/:name/edit", domain.MayChange, s.showEditDevice},
		{"POST", "/devices/:name/edit", domain.MayChange, s.editDevice},
		{"POST", "/devices/:name/state", domain.MayChange, s.setDeviceState},
		{"GET", "/devices/:name/delete", domain.MayChange, s.showDeleteDevice},
		{"POST", "/devices/:name/delete", domain.MayChange, s.deleteDevice},
		{"GET", "/devices/:name/history", domain.MayRead, s.showDeviceHistory},
		{"GET", "/devices/:name/commands", domain.MayRead, commands.ShowCommands},
		{"POST", "/devices/:name/commands", domain.MayChange, commands.SendCommand},
		{"POST", valuePath, domain.MayPost, s.postValue},
	}
}

// newDeviceCommands returns the page of the commands of a device.
func newDeviceCommands(s *Console) devicecommands.Console {
	return devicecommands.Console{
		Call: func(c *gin.Context, method, path string, body any) (status int, text []byte, message string) {
			a := s.call(c, commandService, method, path, body)
			if !a.ok() {
				a.Message = cmp.Or(a.Message, http.StatusText(a.Status))
			}
			return a.Status, a.Body, a.Message
		},
		Show: func(c *gin.Context, status int, message string, d devicecommands.Data) {
			s.memory(c).Release()
			live := template.URL("devices=" + url.QueryEscape(d.Name)) //nolint:gosec // escaped
			s.show(c, status, "device_commands", Page{Title: "Commands of " + d.Name, Message: message, Data: d, Live: live})
		},
		May:       func(c *gin.Context) bool { u, ok := user(c); return ok && u.Role.May(domain.MayChange) },
		Hold:      func(c *gin.Context) error { return s.memory(c).Hold(logWork) },
		ShowError: s.showError, Done: s.done, Fail: s.fail, State: s.State,
		At: func(ctx context.Context, seq uint64) (domain.Recorded, bool, error) { return s.Changes.At(ctx, seq) },
	}
}

// devicesData is the list of devices with its filters.
type devicesData struct {
	devicesearch.Result
	Query              url.Values
	Profiles, Services []option
	Filtered           bool
	Path               string
}

// Get returns a filter.
func (d devicesData) Get(name string) string { return d.Query.Get(name) }

// States are those to filter by.
func (devicesData) States() []option {
	return []option{{"", "any"}, {"UNLOCKED", "unlocked"}, {"LOCKED", "locked"}, {"UP", "up"}, {"DOWN", "down"}, {"UNKNOWN", "unknown"}}
}

// Sorts are the orders.
func (devicesData) Sorts() []option {
	return []option{{"name", "name"}, {"-name", "name, Z first"}, {"changed", "changed, newest first"}, {"-changed", "changed, oldest first"},
		{"profile", "profile"}, {"service", "service"}, {"state", "state"}}
}

// At is the address of the list with one parameter changed.
func (d devicesData) At(name, value string) template.URL {
	return address("/devices", d.Query, name, value)
}

// address is a page with one parameter of its query changed, at the begin of its list unless the parameter is a position.
func address(path string, query url.Values, name, value string) template.URL {
	q := url.Values{}
	for key, values := range query {
		if key != "after" && key != "before" && key != "offset" && key != name && values[0] != "" {
			q.Set(key, values[0])
		}
	}
	if value != "" {
		q.Set(name, value)
	}
	if len(q) == 0 {
		return template.URL(path) //nolint:gosec // a path of the console
	}
	return template.URL(path + "?" + q.Encode()) //nolint:gosec // encoded
}

// filters reads the named parameters of a query, cut to a length that bounds the work.
func filters(c *gin.Context, names ...string) url.Values {
	q := url.Values{}
	for _, name := range names {
		if value := strings.TrimSpace(c.Query(name)); value != "" {
			q.Set(name, value[:min(len(value), mostSearched)])
		}
	}
	return q
}

func (s *Console) showDevices(c *gin.Context) {
	s.listDevices(c, http.StatusOK, "")
}

func (s *Console) listDevices(c *gin.Context, status int, message string) {
	q := filters(c, "q", "label", "profile", "service", "state", "sort", "after", "before")
	if !slices.Contains(devicesearch.Sorts, strings.TrimPrefix(q.Get("sort"), "-")) {
		q.Del("sort")
	}
	d := devicesData{Query: q}
	var err error
	d.Result, err = s.listing.Find(c.Request.Context(), devicesearch.Query{
		Words: strings.Fields(strings.ToLower(q.Get("q"))), Label: q.Get("label"), Profile: q.Get("profile"), Service: q.Get("service"),
		State: strings.ToUpper(q.Get("state")), Sort: q.Get("sort"), After: q.Get("after"), Before: q.Get("before"), Limit: pageRows,
	})
	if err == nil {
		d.Profiles, d.Services, err = s.pickers()
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	d.Filtered = q.Get("q")+q.Get("label")+q.Get("profile")+q.Get("service")+q.Get("state") != ""
	s.show(c, status, "devices", Page{Title: "Devices", Live: "devices", Message: message, Data: d})
}

// pickers returns the names of profiles and services to choose from.
func (s *Console) pickers() (profiles, services []option, err error) {
	view, done := s.State()
	defer done()
	for list, into := range map[string]*[]option{domain.ListProfiles: &profiles, domain.ListServices: &services} {
		names, _, err := view.Lists.Keys(list, domain.Page{Limit: mostPicked})
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(names, devicesearch.Natural)
		*into = options(names...)
	}
	return profiles, services, nil
}

// changeDevices does the same with all devices that are marked in the list.
func (s *Console) changeDevices(c *gin.Context) {
	names := c.PostFormArray("name")
	back := "/devices"
	if u, err := url.Parse(c.PostForm("back")); err == nil && u.Path == back && u.RawQuery != "" {
		back += "?" + u.RawQuery
	}
	label := strings.TrimSpace(c.PostForm("label"))
	action, words := s.deviceAction(c, c.PostForm("action"), label)
	switch {
	case len(names) == 0:
		s.listDevices(c, http.StatusUnprocessableEntity, "No device is marked. Mark the devices first, then choose what to do.")
		return
	case len(names) > pageRows:
		s.listDevices(c, http.StatusUnprocessableEntity, fmt.Sprintf("%d devices are marked; change at most %d at a time.", len(names), pageRows))
		return
	case action == nil:
		s.listDevices(c, http.StatusUnprocessableEntity, words)
		return
	}
	var wrong []string
	for _, name := range names {
		if a := action(name); !a.ok() {
			wrong = append(wrong, fmt.Sprintf("%s: %s", name, a.Message))
		}
	}
	if len(wrong) > 0 {
		s.listDevices(c, http.StatusUnprocessableEntity, fmt.Sprintf("%d of %d devices are %s. Refused: %s", len(names)-len(wrong), len(names), words, strings.Join(wrong, " · ")))
		return
	}
	if len(names) == 1 {
		s.done(c, back, "1 device is %s.", words)
		return
	}
	s.done(c, back, "%d devices are %s.", len(names), words)
}

// deviceAction returns the function for an action and the participle for its notice. For an unknown action do is nil and words the error.
func (s *Console) deviceAction(c *gin.Context, action, label string) (do func(name string) answer, words string) {
	patch := func(name, field string, value any, header ...string) answer {
		return s.patchDevice(c, map[string]any{"name": name, field: value}, header...)
	}
	switch action {
	case "lock":
		return func(name string) answer { return patch(name, "adminState", domain.StateLocked) }, "locked"
	case "unlock":
		return func(name string) answer { return patch(name, "adminState", domain.StateUnlocked) }, "unlocked"
	case "delete":
		return func(name string) answer {
			return s.call(c, metadataService, http.MethodDelete, apiPath("device/name/", name), nil)
		}, "deleted"
	case "label", "unlabel":
		if label == "" {
			return nil, "Write the label first."
		}
		return func(name string) answer {
			device, revision, err := s.device(c, name)
			if err != nil {
				return answer{Status: statusOf(domain.CodeOf(err)), Message: err.Error()}
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
func (s *Console) patchDevice(c *gin.Context, fields map[string]any, header ...string) answer {
	body := []any{map[string]any{"apiVersion": handlers.V2, "device": fields}}
	return s.call(c, metadataService, http.MethodPatch, api+"/device", body, header...)
}

// device returns a whole device with its revision.
func (s *Console) device(c *gin.Context, name string) (d domain.Device, revision uint64, err error) {
	d, row, err := read(s.memory(c), s.State, devices, "device", name)
	return d, row.Revision, err
}

func etag(revision uint64) string { return fmt.Sprintf("%q", fmt.Sprint(revision)) }
