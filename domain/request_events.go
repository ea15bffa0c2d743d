package domain

// RequestAnswered records the answer to an element of a request with a key that changed nothing: a refusal, or success
// where there was nothing to do. Without it the element could be answered otherwise when it is asked again.
type RequestAnswered struct {
	Key     string `json:"key"` // its Hash
	Element int    `json:"element"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Evolve changes nothing: the answer is kept with the event's Key, as that of any event.
func (RequestAnswered) Evolve(State) {}

// Subject implements Event.
func (e RequestAnswered) Subject() Subject { return Subject{"request", e.Key, "answered"} }

// Err returns the refusal, nil for a success.
func (e RequestAnswered) Err() error { return refusal(e.Code, e.Message) }
