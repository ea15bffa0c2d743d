package handlers

import "net/http"

// correlationHeader carries one id through everything that a request sets off; it is X-Correlation-ID as net/http writes
// it, which takes it as it is then.
const correlationHeader = "X-Correlation-Id"

const maxCorrelationID = 128 // bytes

// correlate answers with the client's id where it is sane, else with a new one. From then on the answer's header is
// where the id is kept.
func (o *Options) correlate(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(correlationHeader)
	if !isPrintable(id) || len(id) > maxCorrelationID {
		id = o.NewID()
	}
	w.Header().Set(correlationHeader, id)
}

// newCorrelation is the id where correlate made it, "" where it is the client's. It then serves as the id of the request's
// first event too, so that the log need not have both.
func newCorrelation(w http.ResponseWriter, r *http.Request) string {
	if id := correlationID(w); id != r.Header.Get(correlationHeader) {
		return id
	}
	return ""
}

func correlationID(w http.ResponseWriter) string { return w.Header().Get(correlationHeader) }

// isPrintable reports whether s is not empty and all printable ASCII: it ends up in logs and in headers of the log.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
