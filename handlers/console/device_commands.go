package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
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
	started time.Time // a command before it has no outcome any more
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
	Address  string // of the page of the device
	Commands []deviceCommand
	More     int    // commands that are not shown
	Answer   string // to the last read, as JSON
	Issued   []issuedCommand
	Newer    bool   // there is a page of Issued before
	Older    uint64 // the event that the next page begins with
	Archived bool   // earlier commands are in an archive
	Hidden   bool   // the user may not see values and answers
}

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

// issuedCommand is a command on record, with the status and the message of its outcome. A command without an outcome has the status 0.
type issuedCommand struct {
	Seq           uint64
	At            int64 // in milliseconds since the Unix epoch
	Actor, Origin string
	domain.CommandIssued
	Accepted bool   // the device service has carried out the command
	Sent     string // the values, as JSON
	Answered uint64 // the event of the outcome; 0 if it is the event of the command
	UnderWay bool   // the outcome may still come
}

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
	return s.Done(c, "/devices/"+url.PathEscape(c.Param("name"))+"/commands", "The device service has carried out %s.", form.Get("command"))
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
	d := commandsData{
		Name: c.Param("name"), Address: "/devices/" + url.PathEscape(c.Param("name")), Commands: list.DeviceCoreCommand.CoreCommands,
		Hidden: !known || !u.Role.May(domain.MayChange),
	}
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

// listIssued lists commands on record, from the event in the query on. The events of the commands of a device name the ones before. A
// command is listed at its outcome, or, if it has none, at its own event. So each page has whole commands.
func (s deviceCommands) listIssued(c *gin.Context, d *commandsData) error {
	seq := s.lastCommand(d.Name)
	var from uint64
	if _, err := fmt.Sscan(c.Query("from"), &from); err == nil && from < seq {
		seq, d.Newer = from, true
	}
	for len(d.Issued) < commandRows && seq != 0 {
		one, prev, ok, err := s.readCommand(c.Request.Context(), d.Name, seq)
		if err != nil {
			return err
		}
		seq, d.Archived = prev, !ok
		if one == nil {
			continue
		}
		one.Accepted = one.Status > 0 && one.Status < http.StatusMultipleChoices
		one.Sent, one.Message, one.Value = cutAnswer(string(one.Value)), cutAnswer(one.Message), nil
		if d.Hidden {
			one.Sent, one.Message = "", ""
		}
		d.Issued = append(d.Issued, *one)
	}
	slices.SortFunc(d.Issued, func(a, b issuedCommand) int { return cmp.Compare(b.Seq, a.Seq) })
	d.Older = seq
	return nil
}

// readCommand returns the command that is listed at an event; nil for a command that is listed at its outcome. prev is the event to go on
// with; 0 for none. ok is false if the event is in an archive.
func (s deviceCommands) readCommand(ctx context.Context, device string, seq uint64) (one *issuedCommand, prev uint64, ok bool, err error) {
	r, ok, err := s.history.changes.At(ctx, seq)
	answered, isAnswer := r.Event.(domain.CommandAnswered)
	if isAnswer && err == nil {
		r, ok, err = s.history.changes.At(ctx, answered.Issued)
	}
	e, issued := r.Event.(domain.CommandIssued)
	if err != nil || !issued || e.Device != device {
		return nil, 0, ok, err
	}
	one = &issuedCommand{Seq: r.Seq, At: r.At.UnixMilli(), Actor: r.Actor, Origin: r.Origin, CommandIssued: e}
	switch {
	case isAnswer:
		one.Status, one.Message, one.Answered = answered.Status, answered.Message, seq
		if answered.Prev != r.Seq { // else the next event has been read
			return one, answered.Prev, true, nil
		}
	case e.Status == 0 && !s.isOpen(seq):
		one = nil
	case e.Status == 0:
		one.UnderWay = s.mayBeAnswered(r.At)
	}
	return one, e.Prev, true, nil
}

// mayBeAnswered reports whether a command of a time may get its outcome yet.
func (s deviceCommands) mayBeAnswered(at time.Time) bool {
	age := s.Now().Sub(at)
	return !at.Before(s.started) && age >= 0 && age < domain.CommandTimeout
}

// lastCommand returns the sequence of the last event of a device's commands; 0 for none.
func (s deviceCommands) lastCommand(device string) uint64 {
	view, done := s.state()
	defer done()
	return domain.LastCommand(view.State, device)
}

// isOpen reports whether the command of an event has no outcome on record.
func (s deviceCommands) isOpen(seq uint64) bool {
	view, done := s.state()
	defer done()
	return domain.IsOpenCommand(view.State, seq)
}
