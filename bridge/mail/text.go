package mail

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"ledge/bridge/outward"
)

// mostSubject is the length of the longest subject, in characters.
const mostSubject = 100

// changeNotice is the content of the notification that a change of a device raises, in the form of EdgeX 2.3.
type changeNotice struct {
	DeviceName        string `json:"deviceName"`
	DeviceServiceName string `json:"deviceServiceName"`
	ActionType        string `json:"actionType"`
	OperatingState    string `json:"operatingState"`
	AdminState        string `json:"adminState"`
}

// describeMessage returns the subject, the media type and the text of a message for people. Only the content of a change of a device gets
// another form, because it is JSON that nobody wrote.
func describeMessage(m outward.Message, media string) (subject, as, text string) {
	text = string(m.Body)
	if media == "application/json" {
		var n changeNotice
		if json.Unmarshal(m.Body, &n) == nil && n.DeviceName != "" && n.ActionType != "" {
			subject = fmt.Sprintf("%s: %s is %s and %s", n.ActionType, n.DeviceName, n.AdminState, n.OperatingState)
			text = fmt.Sprintf("%s: %s\nDevice service: %s\nAdmin state: %s\nOperating state: %s\n",
				n.ActionType, n.DeviceName, n.DeviceServiceName, n.AdminState, n.OperatingState)
			return cutSubject(subject), "text/plain", text
		}
	}
	if media == "text/plain" {
		line, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(text, "\r", "\n")), "\n")
		subject = cutSubject(line)
	}
	if subject == "" {
		subject = cutSubject("Notification from " + m.Sender)
	}
	return subject, media, text
}

// cutSubject returns a text of one line that is at most mostSubject characters long.
func cutSubject(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
	if list := []rune(text); len(list) > mostSubject {
		text = string(list[:mostSubject-1]) + "…"
	}
	return text
}
