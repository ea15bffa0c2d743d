// Package startup answers requests while the program starts.
package startup

import (
	"net/http"
	"strconv"
	"time"

	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/answers"
)

// Again is how many seconds a client should wait whose request came while the program starts.
const Again = "5"

// Handler answers every request with 503: the program is starting. It reads no body. progress returns how far the start has come; "" says
// nothing.
func Handler(o handlers.Options, progress func() string) http.Handler {
	o = o.WithDefaults()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access.Correlate(w, r, o.NewID)
		answer := struct {
			handlers.Envelope
			Status string `json:"status,omitempty"`
		}{Envelope: handlers.Envelope{APIVersion: o.APIVersion, Message: "the node is starting", StatusCode: http.StatusServiceUnavailable}}
		if done := progress(); done != "" {
			answer.Message += ": " + done
		}
		answer.Message += "; try again in " + Again + " seconds"
		if r.URL.Path == "/api/"+o.APIVersion+"/health" {
			answer.Status = "starting"
		}
		text, _ := answers.AppendJSON(nil, answer)
		Write(w, r, "application/json", append(text, '\n'))
	})
}

// Write answers with a text that says that the program is starting.
func Write(w http.ResponseWriter, r *http.Request, contentType string, text []byte) {
	h := w.Header()
	if r.ContentLength != 0 { // net/http would read the body, before and after the answer
		h.Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // not supported where there is no socket, as in tests
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Retry-After", Again)
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(text) // it fails if the client is gone, and then no answer can reach it
}
