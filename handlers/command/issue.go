package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
	"ledge/handlers/entities"
	"ledge/handlers/jsonform"
)

const (
	// mostSettings bounds the body of a PUT, in bytes. A live message of the NATS bus has room for it.
	mostSettings = 256 << 10
	// mostAnswer bounds the answer of a device service to a GET, in bytes; mostShort its answer to a PUT.
	mostAnswer, mostShort = 16 << 20, 64 << 10
)

// find returns the names and states of a device and of its device service. It holds no memory.
func (s service) find(memory *answers.Memory, name string) (d domain.Device, owner domain.DeviceService, err error) {
	defer memory.Release()
	row, err := entities.LookUp(memory, s.state, deviceKind.Table, name, &d)
	if err != nil {
		return d, owner, err
	}
	if !row.OK {
		// EdgeX 2.3's core-metadata answers so, and core-command puts the whole body into its message.
		return d, owner, wrapAnswer(http.StatusNotFound, "fail to query device by name "+name, "\n")
	}
	d = domain.Device{
		Name: strings.Clone(d.Name), ProfileName: strings.Clone(d.ProfileName), ServiceName: strings.Clone(d.ServiceName),
		AdminState: strings.Clone(d.AdminState), OperatingState: strings.Clone(d.OperatingState),
	}
	if _, err = entities.LookUp(memory, s.state, servicesOf, d.ServiceName, &owner); err != nil {
		return d, owner, err
	}
	return d, domain.DeviceService{
		Name: d.ServiceName, BaseAddress: strings.Clone(owner.BaseAddress), AdminState: strings.Clone(owner.AdminState),
		Created: owner.Created, Modified: owner.Modified, Description: strings.Clone(owner.Description),
	}, nil
}

// checkUsable refuses a command by the states of the device and of its service, in the order of EdgeX's device SDK. It refuses commands to
// Ledge's own device service, which cannot do verb.
func (s service) checkUsable(d domain.Device, owner domain.DeviceService, verb string) error {
	switch {
	case owner.AdminState == domain.StateLocked:
		return wrapAnswer(http.StatusLocked, "service locked", "")
	case d.AdminState == domain.StateLocked:
		return wrapAnswer(http.StatusLocked, fmt.Sprintf("device %s locked", d.Name), "")
	case d.OperatingState == domain.StateDown:
		return wrapAnswer(http.StatusLocked, fmt.Sprintf("device %s OperatingState is DOWN", d.Name), "")
	case s.devices.IsBuiltIn(owner):
		const sends = "device '%s' only sends values, to /api/v2/resource/%s/…; Ledge cannot %s"
		return domain.Errorf(domain.Rejected, sends, d.Name, d.Name, verb)
	}
	return nil
}

// get reads from a device.
func (s service) get(c *gin.Context) {
	if err := checkEventQuery(c.Request.URL.RawQuery); err != nil {
		s.fail(c, err)
		return
	}
	d, owner, err := s.find(s.AnswerMemoryOf(c), c.Param("name"))
	if err == nil {
		err = s.checkUsable(d, owner, "read from it")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	resp, err := s.send(c.Request.Context(), c, owner, nil)
	if err != nil {
		s.fail(c, err)
		return
	}
	defer resp.Body.Close()
	memory := s.AnswerMemory(c.Request.Context(), "device service "+owner.Name) // of which each device service has a share
	defer memory.Release()
	text, err := readEvent(resp, memory)
	if err != nil {
		s.fail(c, answeredWrong(owner, err))
		return
	}
	replyJSON(c, resp.StatusCode, text)
}

// checkEventQuery refuses a query as EdgeX 2.3 does. An empty word is as none.
func checkEventQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return domain.Errorf(domain.Invalid, "the query is malformed: %v; escape characters that a URL cannot have", err)
	}
	for _, key := range []string{"ds-returnevent", "ds-pushevent"} {
		if word := query.Get(key); word != "" && word != "yes" && word != "no" {
			return domain.Errorf(domain.Invalid, "invalid query parameter, %.80s has to be yes or no", word)
		}
	}
	return nil
}

// put writes to a device. It goes on if the client leaves, so that its outcome is on record.
func (s service) put(c *gin.Context) {
	settings, err := s.readSettings(c)
	var d domain.Device
	var owner domain.DeviceService
	if err == nil {
		d, owner, err = s.find(s.AnswerMemoryOf(c), c.Param("name"))
	}
	if err == nil {
		err = s.checkReady()
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	issued := domain.CommandIssued{Device: d.Name, Service: owner.Name, Command: c.Param("command")}
	text, err := json.Marshal(settings)
	if err != nil {
		s.fail(c, err)
		return
	}
	hides, err := s.setValue(c, &issued, d.ProfileName, settings)
	if err != nil {
		s.fail(c, err)
		return
	}
	ctx := context.WithoutCancel(c.Request.Context())
	answer, err := s.write(ctx, c, d, owner, text)
	if issued.Status = answer.StatusCode; err != nil {
		issued.Status, issued.Message = s.describe(c, err)
	}
	if hides {
		issued.Message = "" // which may quote a value
	}
	if unrecorded := s.record(ctx, c, issued); unrecorded != nil {
		err = unrecorded
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	s.Reply(c, answer.StatusCode, answer)
}

// setValue sets the value that goes on record, and reports whether the profile hides a part of it. It replaces hidden values in settings.
func (s service) setValue(
	c *gin.Context, issued *domain.CommandIssued, profile string, settings map[string]json.RawMessage,
) (hides bool, err error) {
	memory := s.AnswerMemoryOf(c)
	defer memory.Release()
	var p domain.Profile
	if _, err := entities.LookUp(memory, s.state, profilesOf, profile, &p); err != nil {
		return false, err
	}
	hides = p.HideValues(settings)
	issued.Value, err = json.Marshal(settings)
	return hides, err
}

// checkReady refuses a command that could not be recorded.
func (s service) checkReady() error {
	err := s.Ready()
	if err != nil && domain.CodeOf(err) == domain.Internal {
		return domain.Errorf(domain.Unavailable, "not ready: %v", err)
	}
	return err
}

// readSettings returns the values of a PUT, by resource; nil for null. As in EdgeX 2.3 a body that is not an object is answered 500, and
// text behind the object is not read.
func (s service) readSettings(c *gin.Context) (settings map[string]json.RawMessage, err error) {
	text, err := handlers.ReadText(s.API, c)
	if err != nil {
		return nil, err
	}
	text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	if err := jsonform.CheckLimits(text, text, 0); err != nil {
		return nil, err
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&settings); err != nil {
		return nil, refusal{status: http.StatusInternalServerError, message: "failed to parse request body"}
	}
	return settings, nil
}

// write sends values to a device, and returns the answer of its service.
func (s service) write(
	ctx context.Context, c *gin.Context, d domain.Device, owner domain.DeviceService, text []byte,
) (answer handlers.Envelope, err error) {
	if err := s.checkUsable(d, owner, "write to it"); err != nil {
		return answer, err
	}
	resp, err := s.send(ctx, c, owner, text)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	body, ok, err := bodies.ReadAtMost(resp.Body, mostShort)
	if err == nil && !ok {
		err = fmt.Errorf("it is longer than %d bytes", mostShort)
	}
	if err == nil && (json.Unmarshal(body, &answer) != nil || answer.APIVersion == "") {
		err = errNotEdgeX
	}
	if err != nil {
		return answer, answeredWrong(owner, err)
	}
	return handlers.Envelope{APIVersion: s.APIVersion, Message: answer.Message, StatusCode: resp.StatusCode}, nil
}

// record puts a command on record. It has been issued: it is recorded also if its sender has lost the right meanwhile.
func (s service) record(ctx context.Context, c *gin.Context, issued domain.CommandIssued) error {
	stamp := s.Stamp(c)
	stamp.By = nil
	outcomes, err := s.log.Submit(ctx, domain.Request{
		Stamp: stamp, Command: domain.RecordCommand{Issued: issued}, Bytes: len(issued.Value) + len(issued.Message),
	})
	if err == nil {
		err = outcomes[0].Err
	}
	if code := domain.CodeOf(err); err != nil && code != domain.Internal {
		return domain.Errorf(code, "the command was answered with status %d, and is not on record: %v", issued.Status, err)
	}
	return err
}

// send sends a command to a device service. text is JSON, nil for a GET. An answer that is an error becomes a refusal with the whole of it,
// as in EdgeX 2.3.
func (s service) send(ctx context.Context, c *gin.Context, owner domain.DeviceService, text []byte) (*http.Response, error) {
	at := &url.URL{
		Path:     "/api/" + handlers.V2 + "/device/name/" + c.Param("name") + "/" + c.Param("command"),
		RawPath:  "/api/" + handlers.V2 + "/device/name/" + url.PathEscape(c.Param("name")) + "/" + url.PathEscape(c.Param("command")),
		RawQuery: c.Request.URL.RawQuery,
	}
	r, err := http.NewRequestWithContext(ctx, c.Request.Method, at.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.devices.Send(ctx, owner, r, access.HopsOf(c.Request).Behind(access.CorrelationID(c.Writer)))
	if err != nil {
		return nil, s.unsent(owner, err)
	}
	if resp.StatusCode <= http.StatusMultiStatus {
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, s.unsent(owner, err)
	}
	return nil, refusalFor(resp.StatusCode, string(body))
}

// unsent returns the answer for a device service that cannot be reached.
func (s service) unsent(owner domain.DeviceService, err error) error {
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errTooSlow
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	s.Logger.Info("command not sent", "service", owner.Name, "base address", owner.BaseAddress, "error", err)
	message := "failed to send a http request"
	if refused, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err); ok && refused.Permanent() {
		message += fmt.Sprintf(": baseAddress of device service %q: %v", owner.Name, refused)
	}
	return refusal{status: http.StatusServiceUnavailable, message: message}
}
