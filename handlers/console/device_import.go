package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"

	"ledge/domain"
	"ledge/handlers/shapes"
)

const (
	// lookedUp is the number of devices per view of the state, and per request.
	lookedUp = 500
	// mostImported bounds the devices of one import.
	mostImported = 10_000
	// importRows is how many devices of an import a page lists; those that are refused come first.
	importRows = 200
	// importBody is the longest body of a request, in bytes, unless one device is longer.
	importBody = 512 << 10
)

// Results of an import for a device.
const (
	toAdd     = "added"
	toChange  = "changed"
	unchanged = "unchanged"
	refused   = "refused"
)

// importData is an import, before or after it is carried out.
type importData struct {
	Text  string
	Wrong string // what is wrong with the text
	Rows  []importRow
	Done  bool
}

// importRow is one device of an import.
type importRow struct {
	Position   int // from 1
	Name, What string
	Says       string // why it is refused, or what changes
	device     json.RawMessage
}

// Count is the number of devices with a result.
func (d importData) Count(what string) (n int) {
	for _, r := range d.Rows {
		if r.What == what {
			n++
		}
	}
	return n
}

// Work is how many devices change.
func (d importData) Work() int { return d.Count(toAdd) + d.Count(toChange) }

// Shown are the rows to list, those that are refused first.
func (d importData) Shown() (rows []importRow) {
	for _, wanted := range []bool{true, false} {
		for _, r := range d.Rows {
			if (r.What == refused) == wanted && len(rows) < importRows {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// Hidden is how many rows are not listed.
func (d importData) Hidden() int { return max(0, len(d.Rows)-importRows) }

func (s *Console) showImport(c *gin.Context) {
	s.show(c, http.StatusOK, "device_import", Page{Title: "Import devices", Data: importData{}})
}

// importDevices shows what an import would do, or does it.
func (s *Console) importDevices(c *gin.Context) {
	page := Page{Title: "Import devices"}
	text, action, err := s.importForm(c)
	d := importData{Text: text}
	if err == nil {
		d.Rows, err = readImport([]byte(text))
	}
	if err == nil {
		err = s.plan(c, d.Rows)
	}
	status := http.StatusOK
	if err != nil {
		d.Wrong, d.Rows, status = err.Error(), nil, http.StatusUnprocessableEntity
	} else if action == "apply" {
		d.Done = true
		s.apply(c, d.Rows, toAdd, http.MethodPost)
		s.apply(c, d.Rows, toChange, http.MethodPatch)
		page.Notice = fmt.Sprintf("%d devices are added, %d are changed.", d.Count(toAdd), d.Count(toChange))
	}
	page.Data = d
	s.show(c, status, "device_import", page)
}

// importForm reads the text of an import, or the file in its place.
func (s *Console) importForm(c *gin.Context) (text, action string, err error) {
	form, err := c.Request.MultipartReader()
	if err != nil {
		return "", "", domain.Errorf(domain.Invalid, "Choose a file, or paste the devices as JSON or YAML.")
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			break
		}
		content, err := io.ReadAll(io.LimitReader(part, s.BodyBytes+1))
		if err != nil || int64(len(content)) > s.BodyBytes {
			return text, action, domain.Errorf(domain.Invalid, "The text is longer than %s. Import the devices in parts.", showBytes(s.BodyBytes))
		}
		switch name := part.FormName(); {
		case name == "action":
			action = string(content)
		case name == "text" && text == "", name == "file" && len(content) > 0:
			text = string(content)
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", action, domain.Errorf(domain.Invalid, "Choose a file, or paste the devices as JSON or YAML.")
	}
	return text, action, nil
}

// readImport finds the devices in a text: a list of devices or of requests as for the API, an object with such a list, or one device.
func readImport(text []byte) (rows []importRow, err error) {
	defer func() {
		if p := recover(); p != nil { // the YAML library may panic
			err = domain.Errorf(domain.Invalid, "The text is not YAML: %v", p)
		}
	}()
	var all any
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && (trimmed[0] == '[' || trimmed[0] == '{') && json.Valid(trimmed) {
		in := json.NewDecoder(bytes.NewReader(trimmed))
		in.UseNumber()
		err = in.Decode(&all)
	} else if err = yaml.Unmarshal(text, &all); err == nil {
		all = withTexts(all, false)
	}
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "The text is neither JSON nor YAML: %s", readableYAML(err))
	}
	list := listOf(all)
	if list == nil {
		return nil, domain.Errorf(domain.Invalid, "There is no device in the text. Give a list of devices.")
	}
	if len(list) > mostImported {
		return nil, domain.Errorf(domain.Invalid, "There are %d devices in the text; import at most %d at a time.", len(list), mostImported)
	}
	for i, one := range list {
		if request, ok := one.(map[string]any); ok && request["device"] != nil {
			one = request["device"]
		}
		device, err := json.Marshal(one)
		if err != nil {
			return nil, domain.Errorf(domain.Invalid, "Device %d: %v", i+1, err)
		}
		rows = append(rows, importRow{Position: i + 1, device: device})
	}
	return rows, nil
}

// listOf finds the list of devices.
func listOf(all any) []any {
	switch v := all.(type) {
	case []any:
		return v
	case map[string]any:
		for key, value := range v {
			if list, ok := value.([]any); ok && (strings.EqualFold(key, "devices") || strings.EqualFold(key, "deviceList")) {
				return list
			}
		}
		return []any{v}
	}
	return nil
}

// withTexts makes texts of the properties of protocols in a YAML document: 502 stands there for "502".
func withTexts(v any, inProtocols bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withTexts(v[i], inProtocols)
		}
	case map[string]any:
		for key := range v {
			v[key] = withTexts(v[key], inProtocols || strings.EqualFold(key, "protocols"))
		}
	case int, float64, bool, uint64:
		if inProtocols {
			return fmt.Sprint(v)
		}
	}
	return v
}

// plan finds the result for each device. It makes the decisions of the API on the state, but does not ask device services for validation.
func (s *Console) plan(c *gin.Context, rows []importRow) error {
	seen := map[string]int{}
	for len(rows) > 0 {
		if err := c.Request.Context().Err(); err != nil {
			return err
		}
		n := min(len(rows), lookedUp)
		s.planSome(rows[:n], seen)
		rows = rows[n:]
	}
	return nil
}

func (s *Console) planSome(rows []importRow, seen map[string]int) {
	view, done := s.State()
	defer done()
	for i := range rows {
		r := &rows[i]
		if err := r.plan(view.State, seen); err != nil {
			r.What, r.Says = refused, err.Error()
		}
	}
}

func (r *importRow) plan(state domain.State, seen map[string]int) error {
	var device shapes.Device
	var patch shapes.DevicePatch
	if err := json.Unmarshal(r.device, &device); err != nil {
		return domain.Errorf(domain.Invalid, "it cannot be read: %v", err)
	}
	r.Name = device.Name
	if first := seen[r.Name]; first > 0 {
		return domain.Errorf(domain.Invalid, "device %d has the same name; leave one out", first)
	}
	if r.Name != "" {
		seen[r.Name] = r.Position
	}
	if _, there := state.Devices.Get(r.Name); there {
		if err := json.Unmarshal(r.device, &patch); err != nil {
			return domain.Errorf(domain.Invalid, "it cannot be read: %v", err)
		}
		return r.planChange(state, patch.Patch())
	}
	entity := device.Entity()
	if entity.AdminState == "" {
		entity.AdminState = domain.StateUnlocked
	}
	if entity.OperatingState == "" {
		entity.OperatingState = domain.StateUp
	}
	shape := shapes.OfDevice(entity)
	shape.Notify = entity.Notify
	if entity.ID == "" {
		entity.ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", r.Position) // for the check; the service makes one
	}
	if _, err := (domain.AddDevice{Device: entity}).Decide(state); err != nil {
		return err
	}
	text, err := json.Marshal(shape)
	r.What, r.device = toAdd, text
	return err
}

func (r *importRow) planChange(state domain.State, patch domain.DevicePatch) error {
	event, err := domain.UpdateDevice{Patch: patch}.Decide(state)
	if err != nil {
		return err
	}
	r.What = unchanged
	if e, ok := event.(domain.DevicePatched); ok {
		r.What = toChange
		r.Says = strings.Join(e.Changes.Names(), ", ")
	}
	return nil
}

// apply sends the devices with a plan to the service, many in one request.
func (s *Console) apply(c *gin.Context, rows []importRow, what, method string) {
	var batch []*importRow
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
		if len(batch) == min(s.BatchElements, lookedUp) || size > 0 && size+len(rows[i].device) > importBody {
			send()
		}
		batch, size = append(batch, &rows[i]), size+len(rows[i].device)
	}
	send()
}

func (s *Console) sendImport(c *gin.Context, batch []*importRow, method string) {
	var body []any
	for _, r := range batch {
		body = append(body, map[string]any{"apiVersion": "v2", "device": r.device})
	}
	a := s.call(c, metadataService, method, "/api/v2/device", body)
	var elements []struct {
		StatusCode int    `json:"statusCode"`
		Message    string `json:"message"`
	}
	if err := json.Unmarshal(a.Body, &elements); err != nil || len(elements) != len(batch) {
		for _, r := range batch {
			r.What, r.Says = refused, a.Message
		}
		return
	}
	for i, r := range batch {
		if elements[i].StatusCode >= http.StatusMultipleChoices {
			r.What, r.Says = refused, elements[i].Message
		}
	}
}
