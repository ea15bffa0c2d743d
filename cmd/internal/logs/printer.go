package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/store"
)

// Printer writes messages of the log, for people or as JSON lines.
type Printer struct {
	w    io.Writer
	json bool
}

// NewPrinter returns a Printer that writes to w, for people or as JSON lines.
func NewPrinter(w io.Writer, asJSON bool) *Printer { return &Printer{w, asJSON} }

// Print writes a message in one line.
func (p *Printer) Print(m store.Message) error {
	if p.json {
		return p.printJSON(m)
	}
	st, w := m.Stamp(), m.Wire()
	_, err := fmt.Fprintf(p.w, "%s  %s %d  %s  %s  by %s from %s%s\n", st.At.Format("2006-01-02T15:04:05.000Z07:00"),
		eventlog.StreamOf(m.Subject), m.Seq, w.Type, strings.Join(w.Subject, " "), st.Actor, st.Origin, Detail(w))
	return err
}

// Detail returns the end of a line: the reason why an event is skipped, its changes, a command, the outcome of a command, or the size of a
// posted value, on the log or beside it.
func Detail(w domain.Wire) string {
	if size := w.Ext["size"]; size != "" {
		return fmt.Sprintf("  %s, %s bytes", w.ContentType, size)
	}
	if reason := Undecodable(w); reason != "" {
		return "  UNDECODABLE, skipped: " + reason
	}
	var e struct {
		Changed []string        `json:"changed"`
		Changes domain.Changes  `json:"changes"`
		Command string          `json:"command"`
		Value   json.RawMessage `json:"value"`
		Issued  uint64          `json:"issued"`
		Status  int             `json:"status"`
		Values  json.RawMessage `json:"values"`
	}
	if json.Unmarshal(w.Data, &e) != nil {
		return ""
	}
	switch {
	case e.Command != "" && e.Issued != 0:
		return fmt.Sprintf("  %s of event %d answered %d", shownText(e.Command), e.Issued, e.Status)
	case e.Command != "" && e.Status != 0:
		return fmt.Sprintf("  %s %s answered %d", shownText(e.Command), shownValue(e.Value), e.Status)
	case e.Command != "":
		return fmt.Sprintf("  %s %s", shownText(e.Command), shownValue(e.Value))
	case eventlog.VerbOf(w.Type) == "retention.set":
		return "  " + settingsText(e.Values)
	}
	if len(e.Changed)+len(e.Changes) == 0 {
		return ""
	}
	if len(e.Changes) == 0 { // an event of an earlier version, without values
		return "  changed " + strings.Join(e.Changed, ", ")
	}
	return "  " + changesText(e.Changes)
}

// settingsText returns the settings of retention in an event, such as readings-max-age: 30d.
func settingsText(data json.RawMessage) string {
	var values map[string]string
	if json.Unmarshal(data, &values) != nil {
		return ""
	}
	texts := []string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		texts = append(texts, name+": "+cmp.Or(shownText(values[name]), "as configured"))
	}
	return strings.Join(texts, ", ")
}

const (
	// mostShown is how many changed values a line has, mostValueRunes how many characters of each, mostPathRunes of the path of each.
	mostShown, mostValueRunes, mostPathRunes = 8, 60, 140
)

// changesText returns the changes, such as adminState: UNLOCKED → LOCKED.
func changesText(changes domain.Changes) string {
	var texts []string
	more := 0
	for leaf := range changes.Leaves() {
		if len(texts) == mostShown {
			more++
			continue
		}
		texts = append(texts, shownPath(leaf.Path)+": "+shownValue(leaf.Was)+" → "+shownValue(leaf.Is))
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// shownValue is a JSON value in a line, a text without its quotes.
func shownValue(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0:
		return "nothing"
	case json.Unmarshal(value, &text) == nil:
		return shownText(text)
	}
	return shownText(string(value))
}

// shownText is the beginning of a value.
func shownText(text string) string { return cutText(text, mostValueRunes) }

// shownPath is the beginning of the path of a field.
func shownPath(path string) string { return cutText(path, mostPathRunes) }

// cutText is the beginning of a text, without characters that could steer a terminal.
func cutText(text string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > most {
			return b.String() + "…"
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func (p *Printer) printJSON(m store.Message) error {
	st, w := m.Stamp(), m.Wire()
	line := map[string]any{
		"stream": eventlog.StreamOf(m.Subject), "subject": m.Subject,
		"seq": m.Seq, "id": st.EventID, "type": w.Type, "time": st.At, "actor": st.Actor,
		"origin": st.Origin, "correlationId": st.CorrelationID, "contentType": w.ContentType, "size": len(w.Data),
	}
	if reason := Undecodable(w); reason != "" {
		line["undecodable"] = reason
	}
	if st.Key != nil {
		line["idempotency"] = st.Key.String()
	}
	if len(w.Ext) > 0 {
		line["ext"] = w.Ext
	}
	if json.Valid(w.Data) {
		line["data"] = json.RawMessage(w.Data)
	}
	return PrintJSON(p.w, line)
}

// PrintJSON writes a value in one line, without characters that could steer a terminal.
func PrintJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = fmt.Fprintln(w, unseen.ReplaceAllStringFunc(string(text), func(s string) string { return fmt.Sprintf(`\u%04x`, []rune(s)[0]) }))
	}
	return err
}

// unseen are characters that JSON leaves as they are and that steer a terminal: control characters, and those that turn the direction of
// text.
var unseen = regexp.MustCompile(`[\x{7f}-\x{9f}\x{202a}-\x{202e}]`)

// Undecodable returns why an event cannot be decoded and is skipped, or "".
func Undecodable(w domain.Wire) string {
	e, err := domain.DecodeStored(w)
	if u, ok := e.(domain.Undecodable); ok && err == nil {
		return u.Reason
	}
	return ""
}
