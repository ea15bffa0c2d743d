package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console/web"
	"ledge/handlers/entityfile"
)

const (
	// importTogether is the number of devices per request.
	importTogether = 500
	// mostImported bounds the devices of one import.
	mostImported = 10_000
	// importRows is how many devices of an import a page lists; those that are refused come first.
	importRows = 200
	// importBody is the longest body of a request, in bytes, unless one device is longer.
	importBody = 512 << 10
	// importText is how much of a device's name, and of what is said of it, a page shows, in bytes.
	importText = 1 << 10
)

// deviceImport is the import of devices.
type deviceImport struct{ devices }

func (s deviceImport) Routes() []web.Route {
	return []web.Route{
		web.Get("/devices/+import", domain.MayChange, s.showImport),
		web.Post("/devices/+import", domain.MayChange, s.importDevices).WithUpload(),
	}
}

// importData is an import, before or after it is carried out.
type importData struct {
	Text             string
	Wrong            string // what is wrong with the text
	Rows             []entityfile.Row
	Shown            []entityfile.Row // the rows to list, the refused ones first
	Hidden           int              // how many rows are not listed
	Done             bool
	Service, Profile web.Field // of the devices whose text has none
	// The devices by result. Work is how many devices change.
	Added, Changed, Unchanged, Refused, Work int
}

// summarize counts the devices by result, and sets the rows to list.
func (d *importData) summarize() {
	count := map[string]int{}
	for _, r := range d.Rows {
		count[r.What]++
	}
	d.Added, d.Changed = count[entityfile.Added], count[entityfile.Changed]
	d.Unchanged, d.Refused = count[entityfile.Unchanged], count[entityfile.Refused]
	d.Work, d.Hidden = d.Added+d.Changed, max(0, len(d.Rows)-importRows)
	for _, wanted := range []bool{true, false} {
		for _, r := range d.Rows {
			if (r.What == entityfile.Refused) == wanted && len(d.Shown) < importRows {
				r.Name, r.Says = cutLong(r.Name), cutLong(r.Says)
				d.Shown = append(d.Shown, r)
			}
		}
	}
}

func cutLong(text string) string {
	if len(text) > importText {
		return web.CutText(text, importText)
	}
	return text
}

func (s deviceImport) showImport(c *gin.Context) error {
	return s.showImportPage(c, http.StatusOK, web.Page{}, importData{Service: web.Field{Value: domain.DeviceREST}})
}

func (s deviceImport) showImportPage(c *gin.Context, status int, page web.Page, d importData) error {
	profiles, services, err := s.pickers()
	if err != nil {
		return err
	}
	d.Service.Name, d.Service.Label = "serviceName", "Device service for new devices without one"
	d.Profile.Name, d.Profile.Label = "profileName", "Device profile for new devices without one"
	offerNames(&d.Service, services)
	offerNames(&d.Profile, profiles)
	page.Title, page.Data = "Import devices", d
	return s.Show(c, status, "device_import", page)
}

// importDevices shows what an import would do, or does it.
func (s deviceImport) importDevices(c *gin.Context) error {
	var page web.Page
	memory := s.Bodies.EntryMemory(c)
	defer memory.Release()
	d, text, action, err := s.importForm(c)
	if err == nil {
		err = s.plan(c, &d, text, memory.HoldBytes)
	}
	status := http.StatusOK
	if err != nil {
		d.Wrong, d.Rows, status = err.Error(), nil, web.StatusOf(domain.CodeOf(err))
	} else if action == "apply" {
		d.Done = true
		s.apply(c, d.Rows, entityfile.Added, http.MethodPost)
		s.apply(c, d.Rows, entityfile.Changed, http.MethodPatch)
	}
	var ok bool
	if d.summarize(); d.Done {
		page.Notice = fmt.Sprintf("Devices added: %d, changed: %d.", d.Added, d.Changed)
	} else if d.Text, ok = web.Repeat(text, memory); !ok {
		page.Notice = web.TooLongToRepeat
	}
	return s.showImportPage(c, status, page, d)
}

// importForm reads the text of an import, or the file in its place, and the defaults.
func (s deviceImport) importForm(c *gin.Context) (d importData, text []byte, action string, err error) {
	form, err := s.ReadUpload(c, "text", s.BodyBytes)
	d.Service.Value, d.Profile.Value = strings.TrimSpace(form.Fields["serviceName"]), strings.TrimSpace(form.Fields["profileName"])
	if err == nil && len(bytes.TrimSpace(form.Text)) == 0 {
		err = domain.Errorf(domain.Invalid, "Choose a file, or paste the devices as JSON, YAML, TOML or CSV.")
	}
	return d, form.Text, form.Fields["action"], err
}

// plan reads the devices, and finds the result for each. Each has a view of its own, because a view keeps the devices that were read of it.
func (s deviceImport) plan(c *gin.Context, d *importData, text []byte, hold entityfile.Hold) error {
	list, err := entityfile.Read(text, entityfile.Devices, mostImported, hold)
	if err != nil {
		return err
	}
	plan := entityfile.Plan{Service: d.Service.Value, Profile: d.Profile.Value}
	for _, one := range list {
		if err := c.Request.Context().Err(); err != nil {
			return err
		}
		row := entityfile.Row{Entity: one}
		view, done := s.state()
		plan.Decide(view.State, &row)
		done()
		d.Rows = append(d.Rows, row)
	}
	return nil
}

// apply sends the devices with a plan to the service, many in one request.
func (s deviceImport) apply(c *gin.Context, rows []entityfile.Row, what, method string) {
	var batch []*entityfile.Row
	size := 0
	send := func() {
		if len(batch) > 0 {
			s.sendImport(c, batch, method)
		}
		batch, size = nil, 0
	}
	for i := range rows {
		if rows[i].What != what {
			continue
		}
		if len(batch) == min(s.BatchElements, importTogether) || size > 0 && size+len(rows[i].JSON) > importBody {
			send()
		}
		batch, size = append(batch, &rows[i]), size+len(rows[i].JSON)
	}
	send()
}

func (s deviceImport) sendImport(c *gin.Context, batch []*entityfile.Row, method string) {
	var body []any
	for _, r := range batch {
		body = append(body, map[string]any{"apiVersion": handlers.V2, "device": r.JSON})
	}
	a := s.Call(c, metadataService, method, web.API+"/device", body)
	var elements []struct {
		StatusCode int    `json:"statusCode"`
		Message    string `json:"message"`
	}
	if err := json.Unmarshal(a.Body, &elements); err != nil || len(elements) != len(batch) {
		for _, r := range batch {
			r.What, r.Says = entityfile.Refused, a.Message
		}
		return
	}
	for i, r := range batch {
		if elements[i].StatusCode >= http.StatusMultipleChoices {
			r.What, r.Says = entityfile.Refused, elements[i].Message
		}
	}
}
