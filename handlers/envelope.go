package handlers

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/answers"
	"ledge/handlers/faults"
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
	Errors []faults.Fault `json:"errors,omitempty"`
}

// Failure answers a request that is refused. Errors has what Message says, where the request is at fault.
type Failure struct {
	Envelope
	Errors []faults.Fault `json:"errors,omitempty"`
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

// Head is what each element of a batch has beside its entity. The shape of a Wrapper has its first two fields.
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
	text, err := answers.AppendJSON(b.AvailableBuffer(), body)
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
	text, err := answers.AppendJSON(nil, body)
	if err != nil {
		a.Fail(c, fmt.Errorf("encode answer: %w", err))
		return
	}
	text = append(text, '\n')
	memory.Keep(int64(cap(text)))
	writeJSON(c, http.StatusOK, text)
}

func writeJSON(c *gin.Context, status int, data []byte) {
	h := c.Writer.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.Status(status)
	_, _ = c.Writer.Write(data) // it fails if the client is gone, and then no answer can reach it
}

// buffers are used again, those of at most so many bytes.
type buffers struct {
	pool sync.Pool
	most int
}

var (
	answerBuffers = buffers{most: 1 << 20}
	// bodyBuffers are small: a request has its buffer from its first byte on, however little it sends.
	bodyBuffers = buffers{most: 64 << 10}
)

// get returns an empty buffer, for put.
func (p *buffers) get() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

func (p *buffers) put(b *bytes.Buffer) {
	if b.Cap() <= p.most {
		b.Reset()
		p.pool.Put(b)
	}
}
