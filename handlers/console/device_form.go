package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/domain/spelling"
	"ledge/handlers/bodies"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
	"ledge/handlers/yamldoc"
)

// deviceForms are the forms that change one device.
type deviceForms struct {
	devices
	values values
}

func (s deviceForms) Routes() []web.Route {
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

var deviceInputs = web.Inputs[domain.Device]{
	{Field: nameInput, New: true},
	{Field: descriptionInput},
	{Field: labelsInput},
	{Field: web.Field{Name: "protocolName", Label: "Protocol", Required: true, Value: "rest", Options: web.OptionsOf("rest"),
		Hint: "Use rest for a device that posts its values over HTTP."}},
	{Field: web.Field{Name: "profileName", Label: "Device profile", Required: true, Hint: "Which values the device has."}},
	{Field: web.Field{Name: "serviceName", Label: "Device service", Required: true, Value: domain.DeviceREST,
		Hint: "The service that connects the device."}},
	{Field: web.Field{Name: "protocols", Label: "Protocol properties", Type: "textarea", More: true,
		Hint: "YAML or JSON: each protocol with its properties, such as rest: {host: 10.0.0.5}"},
		Of: textOfProtocols, Parse: parseProtocols},
	{Field: web.Field{Name: "autoEvents", Label: "AutoEvents", Type: "textarea", More: true,
		Hint: "YAML or JSON: a list such as - {sourceName: temperature, interval: 10s, onChange: false}"},
		Of: textOfAutoEvents, Parse: parseAutoEvents},
}

func textOfProtocols(d *domain.Device) string {
	text, _ := yaml.Marshal(d.Protocols) // texts always encode
	return string(text)
}

func textOfAutoEvents(d *domain.Device) string {
	type event struct {
		Interval   string `yaml:"interval"`
		OnChange   bool   `yaml:"onChange"`
		SourceName string `yaml:"sourceName"`
	}
	var events []event
	for _, e := range d.AutoEvents {
		events = append(events, event(e))
	}
	if len(events) == 0 {
		return ""
	}
	text, _ := yaml.Marshal(events) // texts always encode
	return string(text)
}

func parseProtocols(text string, hold func(bytes int64) error) (any, error) {
	protocols := map[string]map[string]string{}
	err := decodeYAML(text, hold, &protocols)
	return protocols, err
}

// parseAutoEvents returns a list without entries for an empty text, which takes the AutoEvents away: null would leave them.
func parseAutoEvents(text string, hold func(bytes int64) error) (any, error) {
	events := []map[string]any{}
	err := decodeYAML(text, hold, &events)
	return events, err
}

func decodeYAML(text string, hold func(bytes int64) error, into any) error {
	if err := yamldoc.Decode([]byte(text), bodies.FormBytes, hold, into); err != nil {
		return errors.New(yamldoc.Readable(err))
	}
	return nil
}

// deviceForm is the form to add or to edit a device.
type deviceForm struct {
	*web.Form
	// Others are the fields that somebody else has changed meanwhile.
	Others []conflict
}

// conflict is a field that has changed since the form was opened.
type conflict struct{ Field, Mine, Now string }

// mostChoices is how many names a select offers. Of more, the field suggests the names that match the text in it.
const mostChoices = 50

// offerNames has a field offer names of entities. A select also has the value of the field if that does not exist.
func offerNames(f *web.Field, names []web.Option) {
	f.Type, f.Options = "text", names
	if len(names) > mostChoices {
		return
	}
	f.Type = "select"
	if !slices.ContainsFunc(names, func(o web.Option) bool { return o.Value == f.Value }) {
		first := web.Option{Label: "Choose one"}
		if f.Value != "" {
			first = web.Option{Value: f.Value, Label: f.Value + " (does not exist)"}
		}
		f.Options = append([]web.Option{first}, names...)
	}
}

func (s deviceForms) showAddDevice(c *gin.Context) error {
	f := deviceInputs.Blank()
	f.Texts["profileName"] = c.Query("profile")
	return s.showDeviceForm(c, http.StatusOK, deviceForm{Form: f}, "")
}

func (s deviceForms) showDeviceForm(c *gin.Context, status int, f deviceForm, message string) error {
	profiles, services, err := s.pickers()
	if err != nil {
		return err
	}
	deviceInputs.Show(f.Form)
	for name, names := range map[string][]web.Option{"profileName": profiles, "serviceName": services} {
		field := f.Field(name)
		offerNames(field, names)
		if status == http.StatusNotFound && field.Error != "" {
			field.Error = suggestNames(field, names)
		}
	}
	f.Extra = len(profiles) == 0
	title := "Add a device"
	if !f.New() {
		title = "Edit " + f.Old
	}
	return s.Show(c, status, "device_form", web.Page{Title: title, Message: message, Data: f})
}

// suggestNames returns an error for the name of an entity that does not exist, with the names that may be meant.
func suggestNames(f *web.Field, names []web.Option) string {
	text := fmt.Sprintf("There is no %s %.80q. Choose an existing one.", strings.ToLower(f.Label), f.Value)
	if near := nearNames(f.Value, names); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return text
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

// deviceFields returns the fields of the API's request.
func deviceFields(f *web.Form, memory *bodies.EntryMemory) map[string]any {
	fields := deviceInputs.Values(f, memory.HoldBytes)
	if protocols, _ := fields["protocols"].(map[string]map[string]string); len(protocols) == 0 {
		d := domain.Device{ServiceName: f.Texts["serviceName"], ProtocolName: f.Texts["protocolName"]}
		fields["protocols"] = d.WithProtocols().Protocols
	}
	return fields
}

func (s deviceForms) addDevice(c *gin.Context) error {
	f := deviceForm{Form: deviceInputs.Read(c, "")}
	memory := s.Bodies.EntryMemory(c)
	defer memory.Release()
	fields := deviceFields(f.Form, memory)
	if len(f.Problems) > 0 {
		return s.showDeviceForm(c, http.StatusUnprocessableEntity, f, f.RefuseProblems(deviceInputs.Labels()))
	}
	fields["adminState"], fields["operatingState"] = domain.StateUnlocked, domain.StateUp
	a := s.ChangeOne(c, metadataService, http.MethodPost, web.API+"/device", "device", fields, "")
	if !a.OK() {
		return s.showDeviceForm(c, a.Status, f, f.Refuse(a, deviceInputs.Labels()))
	}
	name := f.Texts["name"]
	return s.Done(c, "/devices/"+url.PathEscape(name), "The device %s is added.", name)
}

// deviceForForm returns a device of which a form has all.
func (s devices) deviceForForm(c *gin.Context, name string) (domain.Device, uint64, error) {
	d, row, err := web.ReadForm(s.Memory(c), s.state, entities.Devices.Table, "device", name, web.APIPath("device/name/", name))
	return d, row.Revision, err
}

func (s deviceForms) showEditDevice(c *gin.Context) error {
	d, revision, err := s.deviceForForm(c, c.Param("name"))
	if err != nil {
		return err
	}
	return s.showDeviceForm(c, http.StatusOK, deviceForm{Form: deviceInputs.FormOf(&d, d.Name, revision)}, "")
}

func (s deviceForms) editDevice(c *gin.Context) error {
	f := deviceForm{Form: deviceInputs.Read(c, c.Param("name"))}
	f.Revision = cmp.Or(f.Revision, "0")
	memory := s.Bodies.EntryMemory(c)
	defer memory.Release()
	fields := deviceFields(f.Form, memory)
	if len(f.Problems) > 0 {
		return s.showDeviceForm(c, http.StatusUnprocessableEntity, f, f.RefuseProblems(deviceInputs.Labels()))
	}
	a := s.patchDevice(c, fields, "If-Match", fmt.Sprintf("%q", strings.Trim(f.Revision, `"`)))
	switch {
	case a.OK():
		return s.Done(c, "/devices/"+url.PathEscape(f.Old), "The device %s is saved.", f.Old)
	case a.Status == http.StatusPreconditionFailed:
		return s.showConflict(c, f)
	default:
		return s.showDeviceForm(c, a.Status, f, f.Refuse(a, deviceInputs.Labels()))
	}
}

// showConflict shows the changes since the form was opened. The form then has the new revision, so its user can save it.
func (s deviceForms) showConflict(c *gin.Context, f deviceForm) error {
	d, revision, err := s.deviceForForm(c, f.Old)
	if err != nil {
		return err
	}
	now := deviceInputs.FormOf(&d, d.Name, revision)
	for _, one := range deviceInputs {
		mine, other := strings.TrimSpace(f.Texts[one.Name]), now.Texts[one.Name]
		if mine != strings.TrimSpace(other) {
			f.Others = append(f.Others, conflict{one.Label, mine, other})
		}
	}
	f.Revision = now.Revision
	return s.showDeviceForm(c, http.StatusPreconditionFailed, f,
		"This device was changed after you opened the form, and nothing of yours is saved yet. Compare, correct the form, and save again.")
}

// setDeviceState sets the admin state or the operating state of a device.
func (s deviceForms) setDeviceState(c *gin.Context) error {
	fields := map[string]any{"name": c.Param("name")}
	var words string
	switch state := c.PostForm("state"); state {
	case domain.StateLocked, domain.StateUnlocked:
		fields["adminState"], words = state, strings.ToLower(state)
	case domain.StateUp, domain.StateDown:
		fields["operatingState"], words = state, state
	default:
		return s.ShowError(c, http.StatusUnprocessableEntity, "There is no such state. Go back and choose one.")
	}
	if a := s.patchDevice(c, fields); !a.OK() {
		return s.ShowError(c, a.Status, a.Message)
	}
	return s.Done(c, "/devices/"+url.PathEscape(c.Param("name")), "The device is %s.", words)
}

// deletion is a device with the number of its readings.
type deletion struct {
	domain.Device
	Readings int
}

func (s deviceForms) showDeleteDevice(c *gin.Context) error {
	d, _, err := s.device(c, c.Param("name"))
	if err != nil {
		return err
	}
	d = web.Cut(web.ForPage(), &d)
	_, readings, err := s.values.readings(domain.Page{}, domain.Filter{Index: domain.IndexDevice, Value: d.Name})
	if err != nil {
		return err
	}
	return s.Show(c, http.StatusOK, "device_delete", web.Page{Title: "Delete " + d.Name, Data: deletion{d, readings}})
}

func (s deviceForms) deleteDevice(c *gin.Context) error {
	name := c.Param("name")
	if a := s.Call(c, metadataService, http.MethodDelete, web.APIPath("device/name/", name), nil); !a.OK() {
		return s.ShowError(c, a.Status, a.Message)
	}
	return s.Done(c, "/devices", "The device %s is deleted.", name)
}
