package command

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/fxamacker/cbor/v2"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/answers"
	"ledge/handlers/jsonform"
)

// refusal is an answer with an exact status and message.
type refusal struct {
	status  int
	message string
	text    bool // the answer is the message alone
}

func (r refusal) Error() string { return r.message }

// errTooSlow is EdgeX 2.3's answer for a device service that is too slow.
var errTooSlow = refusal{status: http.StatusServiceUnavailable, message: "HTTP request timeout", text: true}

// passed are the statuses of errors of other services that clients get, as in EdgeX 2.3. They get 500 for any other.
var passed = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusRequestedRangeNotSatisfiable,
	http.StatusLocked, http.StatusInternalServerError, http.StatusNotImplemented, http.StatusServiceUnavailable,
}

// refusalFor is the refusal for an error of another service, with its whole body.
func refusalFor(status int, body string) refusal {
	shown := status
	if !slices.Contains(passed, status) {
		shown = http.StatusInternalServerError
	}
	return refusal{status: shown, message: fmt.Sprintf("request failed, status code: %d, err: %s", status, body)}
}

// wrapAnswer is refusalFor for an error with a message that another service of EdgeX 2.3 would answer. The body ends with end.
func wrapAnswer(status int, message, end string) refusal {
	text, _ := json.Marshal(handlers.Envelope{APIVersion: handlers.V2, Message: message, StatusCode: status})
	return refusalFor(status, string(text)+end)
}

// describe returns the status and the message of the answer to a request that failed.
func (s service) describe(c *gin.Context, err error) (status int, message string) {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.status, r.message
	}
	return s.Describe(c, err)
}

// fail answers a request that failed.
func (s service) fail(c *gin.Context, err error) {
	r, ok := errors.AsType[refusal](err)
	switch {
	case !ok:
		s.Fail(c, err)
	case r.text:
		c.String(r.status, "%s", r.message)
	default:
		s.Reply(c, r.status, handlers.Envelope{APIVersion: s.APIVersion, Message: r.message, StatusCode: r.status})
	}
}

// errNotEdgeX is of an answer without the members that EdgeX's have.
var errNotEdgeX = errors.New("it is not an answer of EdgeX 2")

// answeredWrong is the error for a success of a device service that cannot be read.
func answeredWrong(owner domain.DeviceService, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errTooSlow
	}
	if errors.Is(err, context.Canceled) || domain.CodeOf(err) == domain.Unavailable {
		return err
	}
	const unreadable = "the answer of the device service %q cannot be read: %v; correct its baseAddress or the service"
	return domain.Errorf(domain.Rejected, unreadable, owner.Name, err)
}

// eventAnswer is EdgeX 2.3's answer to a GET. It has no requestId.
type eventAnswer struct {
	APIVersion string `json:"apiVersion"`
	Message    string `json:"message,omitempty"`
	StatusCode int    `json:"statusCode"`
	Event      *event `json:"event"`
}

type event struct {
	APIVersion  string    `json:"apiVersion"`
	ID          string    `json:"id"`
	DeviceName  string    `json:"deviceName"`
	ProfileName string    `json:"profileName"`
	SourceName  string    `json:"sourceName"`
	Origin      int64     `json:"origin"`
	Readings    []reading `json:"readings"`
	Tags        object    `json:"tags,omitempty"`
}

type reading struct {
	ID           string  `json:"id"`
	Origin       int64   `json:"origin"`
	DeviceName   string  `json:"deviceName"`
	ResourceName string  `json:"resourceName"`
	ProfileName  string  `json:"profileName"`
	ValueType    string  `json:"valueType"`
	Units        string  `json:"units,omitempty"`
	BinaryValue  *binary `json:"binaryValue,omitempty"`
	MediaType    string  `json:"mediaType,omitempty"`
	ObjectValue  object  `json:"objectValue,omitempty"`
	Value        *string `json:"value,omitempty"`
}

// binary is a value in base64.
type binary string

// UnmarshalCBOR takes a byte string.
func (b *binary) UnmarshalCBOR(text []byte) error {
	var value []byte
	if err := inCBOR.Unmarshal(text, &value); err != nil {
		return err
	}
	*b = binary(base64.StdEncoding.EncodeToString(value))
	return nil
}

// object is any JSON.
type object json.RawMessage

// MarshalJSON returns the JSON as it is.
func (o object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// UnmarshalJSON keeps a copy.
func (o *object) UnmarshalJSON(text []byte) error {
	return (*json.RawMessage)(o).UnmarshalJSON(text)
}

// mostObject bounds an object in CBOR, in bytes: an entry takes some forty times of its text in memory.
const mostObject = 64 << 10

// UnmarshalCBOR takes the values of JSON.
func (o *object) UnmarshalCBOR(text []byte) error {
	if len(text) > mostObject {
		return fmt.Errorf("an object in CBOR is longer than %d bytes", mostObject)
	}
	var value any
	err := inCBOR.Unmarshal(text, &value)
	if err == nil {
		*o, err = json.Marshal(value)
	}
	return err
}

// inCBOR reads the answers of device services with a binary value.
var inCBOR = newCBOR()

func newCBOR() cbor.DecMode {
	mode, err := cbor.DecOptions{
		MaxArrayElements: 10_000, MaxMapPairs: 10_000, MaxNestedLevels: 32, UTF8: cbor.UTF8DecodeInvalid,
		DefaultMapType: reflect.TypeFor[map[string]any](),
	}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}

const (
	typeCBOR = "application/cbor"
	// copiesInWork is how many copies of an answer are in memory: as it came, decoded, and as it goes. An entry of a list or an object
	// takes entryInWork bytes beside its text.
	copiesInWork, entryInWork = 3, 300
	// firstRead is how much of an answer is read before there is memory for it; then it is this many times as much, again and again.
	firstRead, readGrowth = int64(answers.LargeBytes), 4
)

// readEvent returns the answer of a device service to a GET as JSON: an event, or nothing if the service has sent nothing. It waits for the
// memory that a large one takes.
func readEvent(resp *http.Response, memory *answers.Memory) ([]byte, error) {
	text, err := readAll(resp.Body, memory)
	if len(text) == 0 || err != nil {
		return nil, err
	}
	var answer eventAnswer
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != typeCBOR {
		err = readJSON(text, memory, &answer)
	} else if inCBOR.Unmarshal(text, &answer) != nil {
		err = errNotEdgeX
	}
	if err != nil {
		return nil, err
	}
	if answer.APIVersion == "" || answer.Event == nil || answer.Event.APIVersion == "" {
		return nil, errNotEdgeX
	}
	answer.StatusCode = resp.StatusCode
	text, err = json.Marshal(answer)
	return append(text, '\n'), err
}

// readAll reads an answer of at most mostAnswer.
func readAll(body io.Reader, memory *answers.Memory) ([]byte, error) {
	var text bytes.Buffer
	for most := firstRead; ; most *= readGrowth {
		if _, err := text.ReadFrom(io.LimitReader(body, most-int64(text.Len()))); err != nil {
			return nil, err
		}
		if int64(text.Len()) < most {
			return text.Bytes(), nil
		}
		if most >= mostAnswer {
			return nil, fmt.Errorf("it is longer than %d bytes", mostAnswer)
		}
		if err := memory.Hold(copiesInWork * most * readGrowth); err != nil {
			return nil, err
		}
	}
}

// readJSON decodes an event in JSON once there is memory for its entries.
func readJSON(text []byte, memory *answers.Memory, answer *eventAnswer) error {
	if err := jsonform.CheckLimits(text, text, 0); err != nil {
		return errNotEdgeX
	}
	need := int64(copiesInWork*len(text) + entryInWork*jsonform.CountEntries(text))
	if need > copiesInWork*mostAnswer {
		return fmt.Errorf("it takes %d bytes of memory, and %d is the limit", need, copiesInWork*mostAnswer)
	}
	if need > answers.LargeBytes {
		if err := memory.Hold(need); err != nil {
			return err
		}
	}
	if json.Unmarshal(text, answer) != nil {
		return errNotEdgeX
	}
	return nil
}

// replyJSON answers with a text in JSON.
func replyJSON(c *gin.Context, status int, text []byte) {
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	c.Status(status)
	_, _ = c.Writer.Write(text) // it fails if the client is gone, and then no answer can reach it
}
