package command

import (
	"bytes"
	"cmp"
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

// put writes to a device.
func (s service) put(c *gin.Context) {
	answer, err := s.issueCommand(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.Reply(c, answer.StatusCode, answer)
}

// issueCommand records a command, sends it, records its outcome, and returns the answer. A command that is refused here is on record with
// the refusal, and is not sent. issueCommand continues if the client leaves, so that the outcome is on record.
func (s service) issueCommand(c *gin.Context) (answer handlers.Envelope, err error) {
	settings, err := s.readSettings(c)
	if err != nil {
		return answer, err
	}
	d, owner, err := s.find(s.AnswerMemoryOf(c), c.Param("name"))
	if err != nil {
		return answer, err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return answer, err
	}
	issued := domain.CommandIssued{Device: d.Name, Service: owner.Name, Command: c.Param("command")}
	hides, err := s.setValue(c, &issued, d.ProfileName, settings)
	if err != nil {
		return answer, err
	}
	refused := s.checkUsable(d, owner, "write to it")
	if refused != nil {
		issued.Status, issued.Message = s.outcomeOf(c, refused, hides)
	}
	ctx := context.WithoutCancel(c.Request.Context())
	seq, err := s.recordCommand(ctx, c, issued)
	if err != nil || refused != nil {
		return answer, cmp.Or(err, refused)
	}
	answered := domain.CommandAnswered{Device: d.Name, Command: issued.Command, Issued: seq}
	if answer, err = s.write(ctx, c, owner, text); err != nil {
		answered.Status, answered.Message = s.outcomeOf(c, err, hides)
	} else {
		answered.Status = answer.StatusCode
	}
	return answer, cmp.Or(s.recordAnswer(ctx, c, answered), err)
}

// outcomeOf returns the status and the message of a failure that go on record. A message may quote values: there is none if the profile
// hides some.
func (s service) outcomeOf(c *gin.Context, err error, hides bool) (status int, message string) {
	if status, message = s.describe(c, err); hides {
		message = ""
	}
	return status, message
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
	ctx context.Context, c *gin.Context, owner domain.DeviceService, text []byte,
) (answer handlers.Envelope, err error) {
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

// recordCommand puts a command on record, and returns the sequence of its event. It refuses a sender that has lost the right meanwhile.
func (s service) recordCommand(ctx context.Context, c *gin.Context, issued domain.CommandIssued) (seq uint64, err error) {
	seq, err = s.record(ctx, s.Stamp(c), domain.RecordCommand{Issued: issued}, len(issued.Value)+len(issued.Message))
	if code := domain.CodeOf(err); err != nil && code != domain.Internal {
		err = domain.Errorf(code, "the command is not sent, because its record failed: %v", err)
	}
	return seq, err
}

// recordAnswer puts the outcome of a command on record, also if the sender has lost the right meanwhile: the command was sent.
func (s service) recordAnswer(ctx context.Context, c *gin.Context, answered domain.CommandAnswered) error {
	stamp := s.Stamp(c)
	stamp.EventID, stamp.By = s.NewID(), nil // the command may have the other id
	_, err := s.record(ctx, stamp, domain.RecordAnswer{Answered: answered}, len(answered.Message))
	if code := domain.CodeOf(err); err != nil && code != domain.Internal {
		const unrecorded = "the command was sent and answered with status %d, which is not on record beside event %d of the command: %v"
		err = domain.Errorf(code, unrecorded, answered.Status, answered.Issued, err)
	}
	return err
}

// record records an event of a command, which was made of so many bytes of texts, and returns its sequence.
func (s service) record(ctx context.Context, stamp domain.Stamp, command domain.Command, bytes int) (seq uint64, err error) {
	outcomes, err := s.log.Submit(ctx, domain.Request{Stamp: stamp, Command: command, Bytes: bytes})
	if err != nil {
		return 0, err
	}
	return outcomes[0].Seq, outcomes[0].Err
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
