// Package devicecommands is the page of the console with the commands of a device: a form for each, the answer, and the commands on record.
package devicecommands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/entities"
)

const (
	// mostCommands is how many commands a page shows, rows how many commands on record.
	mostCommands, rows = 60, 25
	// shownBytes bounds the text of an answer and of a value on record.
	shownBytes = 8 << 10
)

// Console is the part of the console that the page needs.
type Console struct {
	// Call sends a request to core-command in the name of the user. message is empty for a success.
	Call func(c *gin.Context, method, path string, body any) (status int, text []byte, message string)
	// Show answers with the page. message is the error of the request.
	Show func(c *gin.Context, status int, message string, data Data)
	// ShowError answers with an error of core-command in place of the page.
	ShowError func(c *gin.Context, status int, message string)
	// Done answers with a redirect to the page, which shows the notice.
	Done func(c *gin.Context, to, notice string, args ...any)
	Fail func(c *gin.Context, err error)
	// May reports whether the user may change devices. Only then the values and the answers of commands are shown.
	May func(c *gin.Context) bool
	// Hold takes memory for reading events, until the answer ends.
	Hold  func(c *gin.Context) error
	State entities.Reader
	// At returns the event at a sequence; ok is false if it is in an archive, or is not there.
	At func(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error)
}

// Data is the content of the page.
type Data struct {
	Name     string
	Commands []Command
	More     int    // commands that are not shown
	Answer   string // to the last read, as JSON
	Issued   []Issued
	Newer    bool   // there is a page of Issued before
	Older    uint64 // the event that the next page begins with
	Archived bool   // earlier commands are in an archive
	Hidden   bool   // the user may not see values and answers
}

// Link is an address of the device.
func (d Data) Link(below string) string { return "/devices/" + url.PathEscape(d.Name) + below }

// Command is a command of the device, as core-command lists it.
type Command struct {
	Name       string
	Get, Set   bool
	Parameters []Parameter
}

// Parameter is a resource that a command writes. Value is the text that the user entered.
type Parameter struct {
	ResourceName, ValueType string
	Value                   string `json:"-"`
}

// Issued is a command on record.
type Issued struct {
	Seq           uint64
	At            int64 // in milliseconds since the Unix epoch
	Actor, Origin string
	domain.CommandIssued
	Sent string // the values, as JSON
}

// Accepted reports whether the device service has carried out the command.
func (i Issued) Accepted() bool { return i.Status < http.StatusMultipleChoices }

// commandsPath is the path of the commands of a device at core-command.
func commandsPath(c *gin.Context) string {
	return "/api/v2/device/name/" + url.PathEscape(c.Param("name"))
}

// ShowCommands shows the page.
func (s Console) ShowCommands(c *gin.Context) { s.showPage(c, http.StatusOK, "", "", nil) }

// SendCommand sends the command of the form. The field command is its name, and do is read or write. The values are in fields that begin
// with value-; a resource without a text is not sent.
func (s Console) SendCommand(c *gin.Context) {
	if err := c.Request.ParseForm(); err != nil {
		s.ShowError(c, http.StatusUnprocessableEntity, "The form cannot be read.")
		return
	}
	form := c.Request.PostForm
	path := commandsPath(c) + "/" + url.PathEscape(form.Get("command"))
	if form.Get("do") == "read" {
		status, text, message := s.Call(c, http.MethodGet, path, nil)
		s.showPage(c, status, message, indentJSON(text), form)
		return
	}
	values := map[string]string{}
	for field := range form {
		if resource, ok := strings.CutPrefix(field, "value-"); ok && form.Get(field) != "" {
			values[resource] = form.Get(field)
		}
	}
	if status, _, message := s.Call(c, http.MethodPut, path, values); message != "" {
		s.showPage(c, status, message, "", form)
		return
	}
	s.Done(c, Data{Name: c.Param("name")}.Link("/commands"), "The device service has carried out %s.", form.Get("command"))
}

// indentJSON returns an answer with a line for each member, cut at shownBytes.
func indentJSON(text []byte) string {
	var lines bytes.Buffer
	if json.Indent(&lines, text, "", "  ") != nil {
		return ""
	}
	return cutText(lines.String())
}

func cutText(text string) string {
	if len(text) <= shownBytes {
		return text
	}
	return strings.ToValidUTF8(text[:shownBytes], "") + "…"
}

// showPage shows the commands of the device in the path. message is the error of the command in form, answer the answer to it.
func (s Console) showPage(c *gin.Context, status int, message, answer string, form url.Values) {
	listed, text, wrong := s.Call(c, http.MethodGet, commandsPath(c), nil)
	if wrong != "" {
		s.ShowError(c, listed, wrong)
		return
	}
	var list struct {
		DeviceCoreCommand struct{ CoreCommands []Command }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		s.Fail(c, fmt.Errorf("read the commands: %w", err))
		return
	}
	d := Data{Name: c.Param("name"), Commands: list.DeviceCoreCommand.CoreCommands, Hidden: !s.May(c)}
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
	err := s.Hold(c)
	if err == nil {
		err = s.listIssued(c, &d)
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Show(c, status, message, d)
}

// listIssued lists commands on record, from the one in the query on, each of which names the one before.
func (s Console) listIssued(c *gin.Context, d *Data) error {
	view, done := s.State()
	seq := domain.LastCommand(view.State, d.Name)
	done()
	var from uint64
	if _, err := fmt.Sscan(c.Query("from"), &from); err == nil && from < seq {
		seq, d.Newer = from, true
	}
	for len(d.Issued) < rows && seq != 0 {
		r, ok, err := s.At(c.Request.Context(), seq)
		if err != nil {
			return err
		}
		e, issued := r.Event.(domain.CommandIssued)
		if !ok || !issued || e.Device != d.Name {
			d.Archived = !ok
			return nil
		}
		one := Issued{Seq: r.Seq, At: r.At.UnixMilli(), Actor: r.Actor, Origin: r.Origin, CommandIssued: e, Sent: cutText(string(e.Value))}
		if seq, one.Value = e.Prev, nil; d.Hidden {
			one.Sent, one.Message = "", ""
		}
		one.Message = cutText(one.Message)
		d.Issued = append(d.Issued, one)
	}
	d.Older = seq
	return nil
}
