package channels

import (
	"fmt"
	"io"
)

// Finding is one thing that a delivery depends on.
type Finding struct {
	// Cause is what it is about: locked, category, label, channel, endpoint, topic, port, queue, transmission or replay.
	Cause string `json:"cause"`
	// Stops says that nothing arrives because of it.
	Stops bool   `json:"stops"`
	Text  string `json:"text"`
}

// Explanation explains a delivery.
type Explanation struct {
	Subscription string    `json:"subscription"`
	Notification string    `json:"notification,omitempty"`
	Arrives      bool      `json:"arrives"` // nothing stops it, or it did arrive on some channel
	Findings     []Finding `json:"findings"`
}

func (w *Explanation) add(cause string, stops bool, text string, args ...any) {
	w.Findings = append(w.Findings, Finding{cause, stops, fmt.Sprintf(text, args...)})
}

// Print prints an explanation for people, one cause a line.
func (w *Explanation) Print(out io.Writer) {
	what := "the next notification that matches"
	if w.Notification != "" {
		what = "notification " + w.Notification
	}
	verdict := map[bool]string{true: "nothing stops it", false: "it is stopped"}[w.Arrives]
	fmt.Fprintf(out, "%s, to subscription %s: %s\n", what, w.Subscription, verdict)
	for _, f := range w.Findings {
		mark := "ok  "
		if f.Stops {
			mark = "STOP"
		}
		fmt.Fprintf(out, "%s  %-12s  %s\n", mark, f.Cause, f.Text)
	}
}
