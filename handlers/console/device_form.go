package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/domain/spelling"
	"ledge/handlers"
	"ledge/handlers/bodies"
	"ledge/handlers/console/web"
	"ledge/handlers/yamldoc"
)

// deviceForms are the forms that change one device.
type deviceForms struct {
	devices
	values values
}

func (s deviceForms) routes() []web.Route {
	return []web.Route{
		// No device can have a name with a plus sign.
		web.Get("/devices/+add", domain.MayChange, s.showAddDevice),
		web.Post("/devices/+add", domain.MayChange, s.addDevice),
		web.Get("/devices/:name/edit", domain.MayChange, s.showEditDevice),
		web.Post("/devices/:name/edit", domain.MayChange, s.editDevice),
		web.Post("/devices/:name/state", domain.MayChange, s.setDeviceState),
		web.Get("/devices/:name/delete", domain.MayChange, s.showDeleteDevice),
		web.Post("/devices/:name/delete", domain.MayChange, s.deleteDevice),
	}
}

// deviceForm is the form to add or to edit a device, as its user has filled it in.
type deviceForm struct {
	picker
	Name, Description, Labels, Protocol, Profile, Service string
	// Properties are those of the protocols, Auto the AutoEvents, both as YAML.
	Properties, Auto string
	// Revision is that of the device that is edited; empty for a new device.
	Revision           string
	Problems           web.Problems
	Profiles, Services []web.Option
	// Others are the fields that somebody else has changed meanwhile.
	Others []conflict
}

// conflict is a field that has changed since the form was opened.
type conflict struct{ Field, Mine, Now string }

// mostChoices is how many names a select offers. Of more, the field suggests those that match what is typed.
const mostChoices = 50

// picker makes fields for the name of something that exists.
type picker struct{}

// Choose is the type of a field for one of the names.
func (picker) Choose(names []web.Option) string {
	if len(names) <= mostChoices {
		return "select"
	}
	return "text"
}

// Choices are the names for such a field, and its value if that is none of them.
func (picker) Choices(names []web.Option, value string) []web.Option {
	if len(names) > mostChoices || slices.ContainsFunc(names, func(o web.Option) bool { return o.Value == value }) {
		return names
	}
	first := web.Option{Label: "Choose one"}
	if value != "" {
		first = web.Option{Value: value, Label: value + " (does not exist)"}
	}
	return append([]web.Option{first}, names...)
}

// New reports whether the form adds a device.
func (f deviceForm) New() bool { return f.Revision == "" }

// More reports whether the fields below More are open.
func (f deviceForm) More() bool {
	return f.Problems.Of("protocols") != "" || f.Problems.Of("autoEvents") != ""
}

// Protocols are those to suggest.
func (deviceForm) Protocols() []web.Option { return web.OptionsOf("rest") }

func (s deviceForms) showAddDevice(c *gin.Context) {
	f := deviceForm{Protocol: "rest", Service: domain.DeviceREST, Profile: c.Query("profile")}
	s.showDeviceForm(c, http.StatusOK, f, "")
}

func (s deviceForms) showDeviceForm(c *gin.Context, status int, f deviceForm, message string) {
	var err error
	if f.Profiles, f.Services, err = s.pickers(); err != nil {
		s.Fail(c, err)
		return
	}
	if status == http.StatusNotFound {
		f.suggest()
	}
	if f.Problems.Within("name", "description", "labels", "protocolName", "profileName", "serviceName", "protocols", "autoEvents") {
		message = "Correct the fields that are marked."
	}
	title := "Add a device"
	if !f.New() {
		title = "Edit " + f.Name
	}
	s.Show(c, status, "device_form", web.Page{Title: title, Message: message, Data: f})
}

// suggest has a profile or a service that does not exist say which ones may be meant.
func (f *deviceForm) suggest() {
	for i, p := range f.Problems {
		for field, one := range map[string]struct {
			what, value string
			names       []web.Option
		}{"profileName": {"device profile", f.Profile, f.Profiles}, "serviceName": {"device service", f.Service, f.Services}} {
			if p.Path != field {
				continue
			}
			f.Problems[i].Cure = fmt.Sprintf("There is no %s %.80q. Choose an existing one.", one.what, one.value)
			if near := nearNames(one.value, one.names); len(near) > 0 {
				f.Problems[i].Cure += " Did you mean " + strings.Join(near, " or ") + "?"
			}
		}
	}
}

// nearNames returns a few names that have a text as a part, or else the one that is most like it.
func nearNames(text string, names []web.Option) (near []string) {
	const most = 3
	var all []string
	for _, o := range names {
		all = append(all, o.Value)
		if len(near) < most && strings.Contains(strings.ToLower(o.Value), strings.ToLower(text)) {
			near = append(near, o.Value)
		}
	}
	if nearest := spelling.Nearest(text, all); len(near) == 0 && nearest != "" {
		near = []string{nearest}
	}
	return near
}

func formOf(c *gin.Context) deviceForm {
	text := func(name string) string { return strings.TrimSpace(c.PostForm(name)) }
	return deviceForm{
		Name: text("name"), Description: text("description"), Labels: text("labels"), Protocol: text("protocolName"), Profile: text("profileName"),
		Service: text("serviceName"), Properties: text("protocols"), Auto: text("autoEvents"), Revision: text("revision"),
	}
}

// fields returns the fields of the API's request. It adds a problem for each text that cannot be read, or that memory has no room for.
func (f *deviceForm) fields(memory *bodies.EntryMemory) map[string]any {
	protocols := map[string]map[string]string{}
	if err := yamldoc.Decode([]byte(f.Properties), bodies.FormBytes, memory.HoldBytes, &protocols); err != nil {
		f.Problems.Add("protocols", yamldoc.Readable(err))
	}
	events := []map[string]any{}
	if err := yamldoc.Decode([]byte(f.Auto), bodies.FormBytes, memory.HoldBytes, &events); err != nil {
		f.Problems.Add("autoEvents", yamldoc.Readable(err))
	}
	if len(protocols) == 0 {
		protocols = map[string]map[string]string{cmp.Or(f.Protocol, "other"): {}}
	}
	return map[string]any{
		"name": f.Name, "description": f.Description, "labels": web.SplitLabels(f.Labels), "protocolName": f.Protocol, "profileName": f.Profile,
		"serviceName": f.Service, "protocols": protocols, "autoEvents": events,
	}
}

func (s deviceForms) addDevice(c *gin.Context) {
	f := formOf(c)
	memory := s.Bodies.EntryMemory(c)
	defer memory.Release()
	fields := f.fields(memory)
	if len(f.Problems) > 0 {
		s.showDeviceForm(c, http.StatusUnprocessableEntity, f, "Correct the fields that are marked.")
		return
	}
	fields["adminState"], fields["operatingState"] = domain.StateUnlocked, domain.StateUp
	a := s.Call(c, metadataService, http.MethodPost, web.API+"/device", []any{map[string]any{"apiVersion": handlers.V2, "device": fields}})
	if !a.OK() {
		f.Problems = a.Problems
		s.showDeviceForm(c, a.Status, f, a.Message)
		return
	}
	s.Done(c, "/devices/"+url.PathEscape(f.Name), "The device %s is added.", f.Name)
}

// formFrom is the form as it shows a device.
func formFrom(d domain.Device, revision uint64) deviceForm {
	f := deviceForm{
		Name: d.Name, Description: d.Description, Labels: strings.Join(d.Labels, ", "), Protocol: d.ProtocolName, Profile: d.ProfileName,
		Service: d.ServiceName, Revision: fmt.Sprint(revision),
	}
	if text, err := yaml.Marshal(d.Protocols); err == nil {
		f.Properties = string(text)
	}
	type event struct {
		Interval   string `yaml:"interval"`
		OnChange   bool   `yaml:"onChange"`
		SourceName string `yaml:"sourceName"`
	}
	var events []event
	for _, e := range d.AutoEvents {
		events = append(events, event(e))
	}
	if text, err := yaml.Marshal(events); err == nil && len(events) > 0 {
		f.Auto = string(text)
	}
	return f
}

// deviceForForm returns a device of which a form has all.
func (s devices) deviceForForm(c *gin.Context, name string) (domain.Device, uint64, error) {
	d, row, err := web.ReadForm(s.Memory(c), s.state, deviceTable, "device", name, web.APIPath("device/name/", name))
	return d, row.Revision, err
}

func (s deviceForms) showEditDevice(c *gin.Context) {
	d, revision, err := s.deviceForForm(c, c.Param("name"))
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.showDeviceForm(c, http.StatusOK, formFrom(d, revision), "")
}

func (s deviceForms) editDevice(c *gin.Context) {
	f := formOf(c)
	f.Name = c.Param("name")
	f.Revision = cmp.Or(f.Revision, "0")
	memory := s.Bodies.EntryMemory(c)
	defer memory.Release()
	fields := f.fields(memory)
	if len(f.Problems) > 0 {
		s.showDeviceForm(c, http.StatusUnprocessableEntity, f, "Correct the fields that are marked.")
		return
	}
	a := s.patchDevice(c, fields, "If-Match", fmt.Sprintf("%q", strings.Trim(f.Revision, `"`)))
	switch {
	case a.OK():
		s.Done(c, "/devices/"+url.PathEscape(f.Name), "The device %s is saved.", f.Name)
	case a.Status == http.StatusPreconditionFailed:
		s.showConflict(c, f)
	default:
		f.Problems = a.Problems
		s.showDeviceForm(c, a.Status, f, a.Message)
	}
}

// showConflict shows the changes since the form was opened. The form then has the new revision, so its user can save it.
func (s deviceForms) showConflict(c *gin.Context, f deviceForm) {
	d, revision, err := s.deviceForForm(c, f.Name)
	if err != nil {
		s.Fail(c, err)
		return
	}
	now := formFrom(d, revision)
	for _, one := range []conflict{
		{"Description", f.Description, now.Description}, {"Labels", f.Labels, now.Labels}, {"Protocol", f.Protocol, now.Protocol},
		{"Device profile", f.Profile, now.Profile}, {"Device service", f.Service, now.Service},
		{"Protocol properties", f.Properties, now.Properties}, {"AutoEvents", f.Auto, now.Auto},
	} {
		if strings.TrimSpace(one.Mine) != strings.TrimSpace(one.Now) {
			f.Others = append(f.Others, one)
		}
	}
	f.Revision = now.Revision
	s.showDeviceForm(c, http.StatusPreconditionFailed, f,
		"This device was changed after you opened the form, and nothing of yours is saved yet. Compare, correct the form, and save again.")
}

// setDeviceState sets the admin state or the operating state of a device.
func (s deviceForms) setDeviceState(c *gin.Context) {
	fields := map[string]any{"name": c.Param("name")}
	var words string
	switch state := c.PostForm("state"); state {
	case domain.StateLocked, domain.StateUnlocked:
		fields["adminState"], words = state, strings.ToLower(state)
	case domain.StateUp, domain.StateDown:
		fields["operatingState"], words = state, state
	default:
		s.ShowError(c, http.StatusUnprocessableEntity, "There is no such state. Go back and choose one.")
		return
	}
	if a := s.patchDevice(c, fields); !a.OK() {
		s.ShowError(c, a.Status, a.Message)
		return
	}
	s.Done(c, "/devices/"+url.PathEscape(c.Param("name")), "The device is %s.", words)
}

// deletion is a device with the number of its readings.
type deletion struct {
	domain.Device
	Readings int
}

func (s deviceForms) showDeleteDevice(c *gin.Context) {
	d, _, err := s.device(c, c.Param("name"))
	if err != nil {
		s.Fail(c, err)
		return
	}
	d = web.Cut(web.ForPage(), &d)
	_, readings, err := s.values.readings(domain.Page{}, domain.Filter{Index: domain.IndexDevice, Value: d.Name})
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Show(c, http.StatusOK, "device_delete", web.Page{Title: "Delete " + d.Name, Data: deletion{d, readings}})
}

func (s deviceForms) deleteDevice(c *gin.Context) {
	name := c.Param("name")
	if a := s.Call(c, metadataService, http.MethodDelete, web.APIPath("device/name/", name), nil); !a.OK() {
		s.ShowError(c, a.Status, a.Message)
		return
	}
	s.Done(c, "/devices", "The device %s is deleted.", name)
}
