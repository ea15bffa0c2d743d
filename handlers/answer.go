package handlers

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain/fastjson"
	"ledge/handlers/answers"
)

// Answer is sent while it is made. An answer of no more than one part has a Content-Length. No view of the state is open while the
// client reads, and the client has WriteTimeout for each part, so that an answer may have any length.
type Answer struct {
	*answers.Output
	*answers.Memory
	Vary        string // headers of an answer that could be made
	Disposition string
	a           *API
	c           *gin.Context
	control     *http.ResponseController
	status      int
	contentType string
	begun       bool // something was sent
}

// Answer begins an answer. The caller has to End it, but not where it panics: that must not look like the whole answer.
func (a *API) Answer(c *gin.Context, status int, contentType string) *Answer {
	w := &Answer{
		Memory: a.AnswerMemoryOf(c), a: a, c: c, control: http.NewResponseController(c.Writer),
		status: status, contentType: contentType,
	}
	w.Output = answers.NewOutput(sender{w})
	return w
}

// AnswerMemory returns the memory of an answer to a client, of which it has none yet.
func (a *API) AnswerMemory(ctx context.Context, client string) *answers.Memory {
	return a.answers.For(ctx, client)
}

// AnswerMemoryOf is AnswerMemory for a request.
func (a *API) AnswerMemoryOf(c *gin.Context) *answers.Memory { return a.answers.Of(c.Request) }

// sender sends to the client.
type sender struct{ *Answer }

func (s sender) Write(p []byte) (int, error) {
	s.begin()
	_ = s.control.SetWriteDeadline(time.Now().Add(s.a.WriteTimeout)) // not supported where there is no socket, as in tests
	s.Writing()
	defer s.Wrote()
	return s.c.Writer.Write(p)
}

func (w *Answer) begin() {
	if !w.begun {
		w.begun = true
		h := w.c.Writer.Header()
		h.Set("Content-Type", w.contentType)
		if w.Vary != "" {
			h.Add("Vary", w.Vary)
		}
		if w.Disposition != "" {
			h.Set("Content-Disposition", w.Disposition)
		}
		w.c.Status(w.status)
	}
}

// End sends what is left. An answer that could not be made becomes an error where nothing was sent. Else the connection
// breaks, so that nobody takes a part for the whole.
func (w *Answer) End() {
	defer w.Free()
	w.Release()
	if w.Err == nil {
		if !w.begun {
			w.c.Header("Content-Length", strconv.Itoa(w.Buffered()))
		}
		w.Flush()
	}
	switch {
	case w.Err == nil:
	case !w.begun:
		w.c.Header("ETag", "") // that of what cannot be shown
		w.a.Fail(w.c, w.Err)
	default:
		if w.Unread {
			w.a.Logger.Error("answer broke off", "service", w.a.Service, "path", w.c.Request.URL.Path, "error", w.Err)
		}
		panic(http.ErrAbortHandler)
	}
}

// list is an answer with a list: a JSON object of which the list is the last field.
type list struct {
	*Answer
	more bool // there is an element
}

// beginList begins a list of which total elements are there.
func (a *API) beginList(c *gin.Context, key string, total int) *list {
	l := &list{Answer: a.Answer(c, http.StatusOK, typeJSON)}
	l.Append(func(dst []byte) ([]byte, error) {
		dst, err := answers.AppendJSON(dst, ListEnvelope{a.Envelope(http.StatusOK), total})
		return append(append(append(dst[:len(dst)-1], `,"`...), key...), `":[`...), err
	})
	return l
}

// element appends an element, which f writes. For the text of a large one there is memory, and only for that from then on.
func (l *list) element(f func(dst []byte) ([]byte, error)) {
	if l.more {
		l.Print(",")
	}
	l.more = true
	if l.HoldsNone() {
		l.Append(f)
		return
	}
	text, err := f(nil)
	l.Fail(err)
	l.Keep(int64(cap(text)))
	_, _ = l.Write(text) // an error is kept
}

func (l *list) endList() {
	l.Print("]}\n")
	l.End()
}

// ReplyList answers with a list of total elements, of which some are shown under key.
func ReplyList[D any](a *API, c *gin.Context, key string, total int, shown []D) {
	codec := fastjson.Of[D]()
	l := a.beginList(c, key, total)
	for i := range shown {
		l.element(func(dst []byte) ([]byte, error) { return codec.Append(dst, &shown[i]) })
	}
	l.endList()
}
