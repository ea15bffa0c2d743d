package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

const (
	// mostCommands is how many commands a page shows, commandRows how many commands on record.
	mostCommands, commandRows = 60, 25
	// shownAnswer bounds the text of an answer and of a value on record, in bytes.
	shownAnswer = 8 << 10
)

// deviceCommands is the page with the commands of a device: a form for each, the answer, and the commands on record.
type deviceCommands struct {
	devices
	history history
}

func (s deviceCommands) Routes() []web.Route {
	return []web.Route{
		web.Get("/devices/:name/commands", domain.MayRead, s.showCommands),
		web.Post("/devices/:name/commands", domain.MayChange, s.sendCommand),
	}
}

// commandsData is the content of the page.
type commandsData struct {
	Name     string
	Commands []deviceCommand
	More     int    // commands that are not shown
	Answer   string // to the last read, as JSON
	Issued   []issuedCommand
	Newer    bool   // there is a page of Issued before
	Older    uint64 // the event that the next page begins with
	Archived bool   // earlier commands are in an archive
	Hidden   bool   // the user may not see values and answers
}

// Link is an address of the device.
func (d commandsData) Link(below string) string { return "/devices/" + url.PathEscape(d.Name) + below }

// deviceCommand is a command of the device, as core-command lists it.
type deviceCommand struct {
	Name       string
	Get, Set   bool
	Parameters []commandParameter
}

// commandParameter is a resource that a command writes. Value is the text that the user entered.
type commandParameter struct {
	ResourceName, ValueType string
	Value                   string `json:"-"`
}

// issuedCommand is a command on record.
type issuedCommand struct {
	Seq           uint64
	At            int64 // in milliseconds since the Unix epoch
	Actor, Origin string
	domain.CommandIssued
	Sent string // the values, as JSON
}

// Accepted reports whether the device service has carried out the command.
func (i issuedCommand) Accepted() bool { return i.Status < http.StatusMultipleChoices }

// commandsPath is the path of the commands of a device at core-command.
func commandsPath(c *gin.Context) string {
	return "/api/v2/device/name/" + url.PathEscape(c.Param("name"))
}

func (s deviceCommands) showCommands(c *gin.Context) error {
	return s.showPage(c, http.StatusOK, "", "", nil)
}

// sendCommand sends the command of the form. The field command is its name, and do is read or write. The values are in fields that begin
// with value-; a resource without a text is not sent.
func (s deviceCommands) sendCommand(c *gin.Context) error {
	if err := c.Request.ParseForm(); err != nil {
		return s.ShowError(c, http.StatusUnprocessableEntity, "The form cannot be read.")
	}
	form := c.Request.PostForm
	path := commandsPath(c) + "/" + url.PathEscape(form.Get("command"))
	if form.Get("do") == "read" {
		a := s.callCommand(c, http.MethodGet, path, nil)
		return s.showPage(c, a.Status, a.Message, indentJSON(a.Body), form)
	}
	values := map[string]string{}
	for field := range form {
		if resource, ok := strings.CutPrefix(field, "value-"); ok && form.Get(field) != "" {
			values[resource] = form.Get(field)
		}
	}
	if a := s.callCommand(c, http.MethodPut, path, values); !a.OK() {
		return s.showPage(c, a.Status, a.Message, "", form)
	}
	return s.Done(c, commandsData{Name: c.Param("name")}.Link("/commands"), "The device service has carried out %s.", form.Get("command"))
}

// callCommand sends a request to core-command. An answer that is not a success has a message.
func (s deviceCommands) callCommand(c *gin.Context, method, path string, body any) web.Answer {
	a := s.Call(c, commandService, method, path, body)
	if !a.OK() && a.Message == "" {
		a.Message = http.StatusText(a.Status)
	}
	return a
}

// indentJSON returns an answer with a line for each member, cut at shownAnswer.
func indentJSON(text []byte) string {
	var lines bytes.Buffer
	if json.Indent(&lines, text, "", "  ") != nil {
		return ""
	}
	return cutAnswer(lines.String())
}

func cutAnswer(text string) string {
	if len(text) <= shownAnswer {
		return text
	}
	return strings.ToValidUTF8(text[:shownAnswer], "") + "…"
}

// showPage shows the commands of the device in the path. message is the error of the command in form, answer the answer to it.
func (s deviceCommands) showPage(c *gin.Context, status int, message, answer string, form url.Values) error {
	a := s.callCommand(c, http.MethodGet, commandsPath(c), nil)
	if !a.OK() {
		return s.ShowError(c, a.Status, a.Message)
	}
	var list struct {
		DeviceCoreCommand struct{ CoreCommands []deviceCommand }
	}
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return fmt.Errorf("read the commands: %w", err)
	}
	u, known := web.User(c)
	d := commandsData{Name: c.Param("name"), Commands: list.DeviceCoreCommand.CoreCommands, Hidden: !known || !u.Role.May(domain.MayChange)}
	d.More = max(0, len(d.Commands)-mostCommands)
	d.Commands = slices.Clone(d.Commands[:len(d.Commands)-d.More])
	for _, one := range d.Commands {
		if one.Name == form.Get("command") {
			for i := range one.Parameters {
				one.Parameters[i].Value = form.Get("value-" + one.Parameters[i].ResourceName)
			}
		}
	}
	if message == "" {
		d.Answer = answer
	}
	if err := s.Memory(c).Hold(web.LogWork); err != nil {
		return err
	}
	if err := s.listIssued(c, &d); err != nil {
		return err
	}
	s.Memory(c).Release()
	live := template.URL("devices=" + url.QueryEscape(d.Name)) //nolint:gosec // escaped
	return s.Show(c, status, "device_commands", web.Page{Title: "Commands of " + d.Name, Message: message, Data: d, Live: live})
}

// listIssued lists commands on record, from the one in the query on, each of which names the one before.
func (s deviceCommands) listIssued(c *gin.Context, d *commandsData) error {
	view, done := s.state()
	seq := domain.LastCommand(view.State, d.Name)
	done()
	var from uint64
	if _, err := fmt.Sscan(c.Query("from"), &from); err == nil && from < seq {
		seq, d.Newer = from, true
	}
	for len(d.Issued) < commandRows && seq != 0 {
		r, ok, err := s.history.changes.At(c.Request.Context(), seq)
		if err != nil {
			return err
		}
		e, issued := r.Event.(domain.CommandIssued)
		if !ok || !issued || e.Device != d.Name {
			d.Archived = !ok
			return nil
		}
		one := issuedCommand{Seq: r.Seq, At: r.At.UnixMilli(), Actor: r.Actor, Origin: r.Origin, CommandIssued: e, Sent: cutAnswer(string(e.Value))}
		if seq, one.Value = e.Prev, nil; d.Hidden {
			one.Sent, one.Message = "", ""
		}
		one.Message = cutAnswer(one.Message)
		d.Issued = append(d.Issued, one)
	}
	d.Older = seq
	return nil
}
