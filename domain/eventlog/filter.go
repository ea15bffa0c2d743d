// Package eventlog finds events on the logs. A [Filter] chooses events, for the command line, the API and the console. A [Source] reads
// pages of the chosen events.
package eventlog

import (
	"path"
	"strings"
	"time"

	"ledge/domain"
	"ledge/domain/history"
)

// The names of the logs.
const (
	Changes       = "changes"
	Notifications = "notifications"
	Readings      = "readings"
)

// Names are the names of all logs.
var Names = []string{Changes, Notifications, Readings}

// Event is an event as a log stores it.
type Event struct {
	Log string // one of Names
	Seq uint64
	// Stored is the time when the event was stored. It may be later than that of the stamp.
	Stored  time.Time
	Subject string // for NATS clients, such as ledge.event.device.cam-1.added
	Stamp   domain.Stamp
	Wire    domain.Wire
	// Headers are all headers in their order. Only [Reader].At sets them.
	Headers [][2]string
	// Chain is the hash over the event and the one before it, in hexadecimal digits. Only [Source.Event] sets it.
	Chain string
}

// Entity returns the kind and the name of the entity that the event is about. A reading is about its device.
func (e Event) Entity() (kind, name string) { return entityOf(e.Log, e.Wire.Type, e.Wire.Subject) }

// entityOf returns the entity of an event on a log, by the type and the subject of the event.
func entityOf(log, typ string, subject []string) (kind, name string) {
	if len(subject) < 2 {
		return strings.Join(subject, " "), ""
	}
	kind, name = subject[0], subject[1]
	of, _, _ := strings.Cut(typ, ".")
	about := of == "notification" || of == "notifications" || of == "transmission"
	switch {
	case log == Readings && (of == "reading" || of == "event"):
		kind = "device"
	case log == Notifications && about && kind != "cleanup" && kind != "replays":
		kind = history.Notification
	}
	return kind, name
}

// mostPattern is the longest pattern of a filter, in bytes.
const mostPattern = 256

// Filter chooses events. An empty field chooses all. In patterns, * stands for any characters.
type Filter struct {
	From, To     uint64    // sequences, both included
	Since, Until time.Time // by the time of the stamp; Until is not included

	Type   string // a pattern of the type, with or without its version
	Actor  string // a pattern of the actor, with or without its kind
	Entity string // a pattern of the kind of the entity
	// Name is a pattern of the name of the entity. An event that records several notifications is about each of them.
	Name string
	// Subject is a pattern of the subject, written as for NATS.
	Subject string

	// ExactName says that Name is not a pattern.
	ExactName bool
	// Commands says that a command to a device is an event of the entity device.
	Commands bool
	// AnyCase says that patterns match upper and lower case alike.
	AnyCase bool
}

// Check returns the first fault of a pattern. The error names the field with a prefix, such as -- for flags.
func (f *Filter) Check(prefix string) error {
	for _, one := range []struct{ field, pattern, example string }{
		{"type", f.Type, "a type such as device.added"}, {"actor", f.Actor, "an actor such as user:anna"},
		{"entity", f.Entity, "a kind such as device"}, {"name", f.Name, "a name such as cam-1"},
		{"subject", f.Subject, "a subject such as ledge.event.device.>"},
	} {
		if len(one.pattern) > mostPattern {
			const text = "%s%s: %.80q has %d bytes; use a pattern of at most %d"
			return domain.Errorf(domain.Invalid, text, prefix, one.field, one.pattern, len(one.pattern), mostPattern)
		}
		if _, err := path.Match(one.pattern, ""); err != nil && one.field != "subject" && (one.field != "name" || !f.ExactName) {
			const text = "%s%s: %q is not a pattern; use %s, and * for any characters"
			return domain.Errorf(domain.Invalid, text, prefix, one.field, one.pattern, one.example)
		}
	}
	return nil
}

// Matches reports whether the filter chooses an event.
func (f *Filter) Matches(e Event) bool {
	if e.Seq < f.From || f.To > 0 && e.Seq > f.To {
		return false
	}
	if !f.Since.IsZero() && e.Stamp.At.Before(f.Since) || !f.Until.IsZero() && !e.Stamp.At.Before(f.Until) {
		return false
	}
	return (f.Subject == "" || subjectMatches(f.Subject, e.Subject)) && f.isEntity(e) &&
		(f.Actor == "" || f.like(f.Actor, e.Stamp.Actor) || f.like(f.Actor, afterKind(e.Stamp.Actor))) &&
		(f.Type == "" || f.like(f.Type, e.Wire.Type) || f.like(f.Type, VerbOf(e.Wire.Type)))
}

// lateness is how much later than the time of its stamp an event may be stored: bodies take time to arrive, and commands wait.
const lateness = time.Hour

// Ends reports whether the filter chooses nothing that was stored at a time or later.
func (f *Filter) Ends(stored time.Time) bool {
	return !f.Until.IsZero() && stored.After(f.Until.Add(lateness))
}

// Reads reports whether the filter can choose an event of a log.
func (f *Filter) Reads(log string) bool {
	if f.Commands && log == Notifications { // which has no events of devices
		return false
	}
	parts := strings.SplitN(f.Subject, ".", 3)
	return len(parts) < 2 || parts[1] == "*" || parts[1] == ">" || LogOf("ledge."+parts[1]) == log
}

// StreamOf returns the stream of a subject for people, which is its second part: event, notification or reading.
func StreamOf(subject string) string {
	stream, _, _ := strings.Cut(strings.TrimPrefix(subject, "ledge."), ".")
	return stream
}

// LogOf returns the log of a subject, one of Names; "" for another subject.
func LogOf(subject string) string {
	return map[string]string{"event": Changes, "notification": Notifications, "reading": Readings}[StreamOf(subject)]
}

// Exact returns the entity that the filter names, if it names one kind and one name without a pattern.
func (f *Filter) Exact() (entity, name string, ok bool) {
	if f.Entity == "" || f.Name == "" || f.Commands || !f.isExact() || strings.ContainsAny(f.Entity, special) {
		return "", "", false
	}
	return f.Entity, f.Name, true
}

// special are the characters that make a text a pattern.
const special = `*?[\`

// isExact reports whether the filter chooses one name, or any.
func (f *Filter) isExact() bool {
	return f.ExactName || !f.AnyCase && !strings.ContainsAny(f.Name, special)
}

func (f *Filter) isEntity(e Event) bool {
	if f.Entity == "" && f.Name == "" {
		return true
	}
	kind, name := e.Entity()
	if f.Commands && kind == "command" {
		kind = "device"
	}
	return f.isName(name) && (f.Entity == "" || f.like(f.Entity, kind)) || f.Name != "" && f.isAbout(e)
}

func (f *Filter) isName(name string) bool {
	return f.Name == "" || f.ExactName && f.Name == name || !f.ExactName && f.like(f.Name, name)
}

// like reports whether a pattern matches a text; * stands for any characters, / among them.
func (f *Filter) like(pattern, text string) bool {
	if f.AnyCase {
		pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	}
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "."), strings.ReplaceAll(text, "/", "."))
	return ok
}

// Containing returns the pattern of all texts that contain a text. A * in it stands for any characters.
func Containing(text string) string {
	if text == "" {
		return ""
	}
	return "*" + strings.NewReplacer(`\`, `\\`, "?", `\?`, "[", `\[`).Replace(text) + "*"
}

// VerbOf returns a type such as device.added/1 without its version.
func VerbOf(typ string) string {
	verb, _, _ := strings.Cut(typ, "/")
	return verb
}

// afterKind returns an actor such as user:anna without its kind; "" if it has none.
func afterKind(actor string) string {
	_, name, _ := strings.Cut(actor, ":")
	return name
}

// subjectMatches is how NATS matches subjects.
func subjectMatches(pattern, subject string) bool {
	want, have := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, w := range want {
		switch {
		case w == ">" && i == len(want)-1:
			return len(have) > i
		case i >= len(have) || w != "*" && w != have[i]:
			return false
		}
	}
	return len(want) == len(have)
}
