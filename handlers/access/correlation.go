package access

import "net/http"

// correlationHeader carries one id through everything that a request sets off; it is X-Correlation-ID as net/http writes
// it, which takes it as it is then.
const correlationHeader = "X-Correlation-Id"

const maxCorrelationID = 128 // bytes

// Correlate answers with the client's id if it is sane, else with a new one, which newID makes. From then on the answer's header is
// where the id is kept.
func Correlate(w http.ResponseWriter, r *http.Request, newID func() string) {
	id := r.Header.Get(correlationHeader)
	if !IsPrintable(id) || len(id) > maxCorrelationID {
		id = newID()
	}
	w.Header().Set(correlationHeader, id)
}

// NewCorrelation is the id where correlate made it, "" where it is the client's. It then serves as the id of the request's
// first event too, so that the log need not have both.
func NewCorrelation(w http.ResponseWriter, r *http.Request) string {
	if id := CorrelationID(w); id != r.Header.Get(correlationHeader) {
		return id
	}
	return ""
}

// CorrelationID returns the id that the answer has.
func CorrelationID(w http.ResponseWriter) string { return w.Header().Get(correlationHeader) }

// IsPrintable reports whether s is not empty and all printable ASCII: it ends up in logs and in headers of the log.
func IsPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
