package handlers

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/fastjson"
	"ledge/handlers/answers"
)

// Envelope heads every answer. The order of its fields is that of EdgeX 2.3.
type Envelope struct {
	APIVersion string `json:"apiVersion"`
	RequestID  string `json:"requestId,omitempty"`
	Message    string `json:"message,omitempty"`
	StatusCode int    `json:"statusCode"`
}

// Item answers one element of a batch, or an upload.
type Item struct {
	Envelope
	// ID is the id of the entity that was added.
	ID string `json:"id,omitempty"`
	// Token is the text of the token that was added.
	Token string `json:"token,omitempty"`
	// Errors are what is wrong with the element.
	Errors []Fault `json:"errors,omitempty"`
}

// Failure answers a request that is refused. Errors has what Message says, where the request is at fault.
type Failure struct {
	Envelope
	Errors []Fault `json:"errors,omitempty"`
}

// ListEnvelope heads a list; TotalCount counts it before the page was cut.
type ListEnvelope struct {
	Envelope
	TotalCount int `json:"totalCount"`
}

// Envelope returns the head of an answer without a message.
func (a *API) Envelope(status int) Envelope {
	return Envelope{APIVersion: a.APIVersion, StatusCode: status}
}

// Head is what each element of a batch has beside its entity.
type Head struct {
	APIVersion string `json:"apiVersion"`
	RequestID  string `json:"requestId"`
	ignored    string // of an object that was decoded by itself
}

// Ignored names the keys of an object in JSON that nothing is read from, as the message of its answer; "" for none.
func (h *Head) Ignored() string { return h.ignored }

// RequestHead lets Batch see the head of the elements that embed it.
func (h *Head) RequestHead() *Head { return h }

// Check notes what is wrong with the head. The specification sends both "v2" and "V2".
func (h *Head) Check(version string) (p domain.Problems) {
	if h.APIVersion == "" {
		p.Add("apiVersion", "is missing or empty; use %q", version)
	} else if !strings.EqualFold(h.APIVersion, version) {
		p.Add("apiVersion", "%.80q is unknown here; use %q", h.APIVersion, version)
	}
	if h.RequestID != "" && !domain.IsUUID(h.RequestID) {
		p.Add("requestId", "%.80q is no UUID; give a UUID or leave it out", h.RequestID)
	}
	return p
}

const typeJSON = "application/json"

// Reply answers with body as JSON and a newline, as EdgeX does.
func (a *API) Reply(c *gin.Context, status int, body any) {
	b := answerBuffers.get()
	defer answerBuffers.put(b)
	text, err := appendJSON(b.AvailableBuffer(), body)
	if err != nil {
		a.Fail(c, fmt.Errorf("encode answer: %w", err))
		return
	}
	b.Write(append(text, '\n')) // in place, where there was room
	writeJSON(c, status, b.Bytes())
}

// ReplyLarge is Reply with one large entity, which was read with memory. Until the client has taken the answer it holds what the
// text takes.
func (a *API) ReplyLarge(c *gin.Context, memory *answers.Memory, body any) {
	if memory.HoldsNone() {
		a.Reply(c, http.StatusOK, body)
		return
	}
	text, err := appendJSON(nil, body)
	if err != nil {
		a.Fail(c, fmt.Errorf("encode answer: %w", err))
		return
	}
	text = append(text, '\n')
	memory.Keep(int64(cap(text)))
	writeJSON(c, http.StatusOK, text)
}

// writers has the fastjson.Writer of each type of answers, by its reflect.Type.
var writers sync.Map

func appendJSON(dst []byte, body any) ([]byte, error) {
	t := reflect.TypeOf(body)
	if t == nil {
		return append(dst, "null"...), nil
	}
	w, ok := writers.Load(t)
	if !ok {
		w, _ = writers.LoadOrStore(t, fastjson.WriterOf(t))
	}
	return w.(fastjson.Writer).Append(dst, body)
}

func writeJSON(c *gin.Context, status int, data []byte) {
	h := c.Writer.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.Status(status)
	_, _ = c.Writer.Write(data) // fails when the client is gone: nobody is left to be told
}
