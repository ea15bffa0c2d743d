package handlers

import (
	"net/http"
	"strconv"
	"time"

	"ledge/handlers/access"
)

// StartingAgain is how many seconds a client should wait whose request came while the program starts.
const StartingAgain = "5"

// Starting answers every request with 503: the program is starting. It reads no body. progress returns how far the start has come; "" says
// nothing.
func Starting(o Options, progress func() string) http.Handler {
	o = o.WithDefaults()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access.Correlate(w, r, o.NewID)
		answer := struct {
			Envelope
			Status string `json:"status,omitempty"`
		}{Envelope: Envelope{APIVersion: o.APIVersion, Message: "the node is starting", StatusCode: http.StatusServiceUnavailable}}
		if done := progress(); done != "" {
			answer.Message += ": " + done
		}
		answer.Message += "; try again in " + StartingAgain + " seconds"
		if r.URL.Path == "/api/"+o.APIVersion+"/health" {
			answer.Status = "starting"
		}
		text, _ := appendJSON(nil, answer)
		WriteStarting(w, r, typeJSON, append(text, '\n'))
	})
}

// WriteStarting answers with a text that says that the program is starting.
func WriteStarting(w http.ResponseWriter, r *http.Request, contentType string, text []byte) {
	h := w.Header()
	if r.ContentLength != 0 { // net/http would read the body, before and after the answer
		h.Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // not supported where there is no socket, as in tests
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Retry-After", StartingAgain)
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(text) // fails when the client is gone: nobody is left to be told
}
