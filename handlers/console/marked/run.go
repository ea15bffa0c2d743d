// Package marked changes many devices: all that a filter of the console's list matches, in many short requests.
//
// A [Run] needs no record of its own: its address has all of it, and the devices are its progress. So it can stop at any device, and can
// continue after a reload, another login or a restart of the server.
package marked

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledge/domain"
	"ledge/handlers/console/devicesearch"
)

const (
	// Path is the path of the page of a run.
	Path = "/devices/+all"
	// Together bounds the devices that one request changes.
	Together = 50
	// Longest is the time after which a request begins no other device.
	Longest = 2 * time.Second
	// mostText bounds the text of a filter, in bytes. A longer one is refused: one that is cut would match other devices.
	mostText = 8 << 10
	// mostLabel bounds a label, in bytes.
	mostLabel = 200
	// MostRefused bounds the refusals that a page lists, and mostReason the text of each, in bytes.
	MostRefused, mostReason = 20, 300
)

// The actions.
const (
	Lock        = "lock"
	Unlock      = "unlock"
	Delete      = "delete"
	AddLabel    = "label"
	RemoveLabel = "unlabel"
)

// Run is an action on each device that a filter matches.
type Run struct {
	Filter devicesearch.Filter
	Action string
	Label  string // of AddLabel and RemoveLabel
	// Seq is the last event of the state that the user has confirmed. The run leaves devices alone that changed later. 0: it has not begun.
	Seq uint64
	// At is the time of the confirmation, in milliseconds since the Unix epoch: devices that became silent later are left alone.
	At int64
	// Of is how many devices the run had to change then.
	Of int
}

// Read returns the run at an address.
func Read(query url.Values) Run {
	r := Run{Action: query.Get("action"), Label: strings.TrimSpace(query.Get("label"))}
	text := query.Get("q")
	if r.Filter = devicesearch.Parse(text); len(text) > mostText {
		r.Action = "" // Wrong refuses the run
	}
	r.Seq, _ = strconv.ParseUint(query.Get("seq"), 10, 64) // without one it has not begun
	r.At, _ = strconv.ParseInt(query.Get("at"), 10, 64)
	r.Of, _ = strconv.Atoi(query.Get("of"))
	return r
}

func cutText(text string, most int) string { return text[:min(len(text), most)] }

// Address returns the address of the run.
func (r Run) Address() string {
	q := url.Values{"action": {r.Action}}
	for name, value := range map[string]string{"q": r.Filter.String(), "label": r.Label} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if r.Seq > 0 {
		q.Set("seq", strconv.FormatUint(r.Seq, 10))
		q.Set("at", strconv.FormatInt(r.At, 10))
		q.Set("of", strconv.Itoa(r.Of))
	}
	return Path + "?" + q.Encode()
}

// Wrong returns the reason if the run has no action, or no label for it.
func (r Run) Wrong() string {
	switch r.Action {
	case Lock, Unlock, Delete:
		return ""
	case AddLabel, RemoveLabel:
		if r.Label == "" || len(r.Label) > mostLabel {
			return "Write the label first, with 200 bytes at most."
		}
		return ""
	}
	return "Choose what to do with the marked devices."
}

// Waits reports whether the run still has to change a device that the filter matches.
func (r Run) Waits(d *devicesearch.Device) bool {
	if r.Seq > 0 && d.Revision > r.Seq {
		return false
	}
	switch r.Action {
	case Lock:
		return d.AdminState != domain.StateLocked
	case Unlock:
		return d.AdminState != domain.StateUnlocked
	case AddLabel:
		return !slices.Contains(d.Labels, r.Label)
	case RemoveLabel:
		return d.Left > 0 || slices.Contains(d.Labels, r.Label)
	}
	return true
}

// Title names the action and the number of devices, such as "Lock 12 devices".
func (r Run) Title(n int) string {
	devices := strconv.Itoa(n) + " devices"
	if n == 1 {
		devices = "1 device"
	}
	switch r.Action {
	case AddLabel:
		return "Add the label " + r.Label + " to " + devices
	case RemoveLabel:
		return "Remove the label " + r.Label + " from " + devices
	}
	return map[string]string{Lock: "Lock ", Unlock: "Unlock ", Delete: "Delete "}[r.Action] + devices
}

// Participle names the state of a device after the action.
func (r Run) Participle() string {
	return map[string]string{
		Lock: "locked", Unlock: "unlocked", Delete: "deleted", AddLabel: "labelled", RemoveLabel: "without the label",
	}[r.Action]
}

// Progress is how far a run has come.
type Progress struct {
	Run
	Left int // how many devices the run still has to change, with the refused ones
	// Next is the name of the last device that was tried; the next request begins after it. "": at the begin of the list.
	Next string
	// Going reports whether the page sends the next request by itself.
	Going bool
	// Refused are the first refusals, and Refusals how many there were.
	Refused  []string
	Refusals int
	Stopped  string // the reason why the run has stopped by itself
	// New reports that the user has not confirmed the run.
	New bool
}

// Continue takes the position and the refusals from the form of a page.
func (p *Progress) Continue(form url.Values) {
	p.Next = form.Get("next")
	for _, text := range form["refused"] {
		p.noteRefusal(text)
	}
	n, _ := strconv.Atoi(form.Get("refusals"))
	p.Refusals = max(n, p.Refusals)
}

// Refuse notes the refusal of a device.
func (p *Progress) Refuse(name, reason string) { p.noteRefusal(cmp.Or(name, "?") + ": " + reason) }

func (p *Progress) noteRefusal(text string) {
	p.Refusals++
	if len(p.Refused) < MostRefused {
		p.Refused = append(p.Refused, cutText(strings.ToValidUTF8(text, ""), mostReason))
	}
}
