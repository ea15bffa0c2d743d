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

// describeMessage returns the subject, the media type and the text of a message for people. JSON of a device change becomes text.
func describeMessage(m outward.Message, media string) (subject, as, text string) {
	text = string(m.Body)
	if subject, text, ok := describeChange(m, text); ok && media == "application/json" {
		return cutSubject(subject), "text/plain", text
	}
	if media == "text/plain" {
		content, before := text, ""
		if inner, ok := outward.Escalated(text); ok {
			content, before = inner, "Escalated: "
		}
		if change, _, ok := describeChange(m, content); ok {
			content = change
		}
		line, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(content, "\r", "\n")), "\n")
		subject = cutSubject(before + line)
	}
	if subject == "" {
		subject = cutSubject("Notification from " + m.Sender)
	}
	return subject, media, text
}

// describeChange returns the subject and the text for the content of a change of a device; ok is false for another content.
func describeChange(m outward.Message, content string) (subject, text string, ok bool) {
	var n outward.Change
	if m.Sender != outward.ChangeSender || json.Unmarshal([]byte(content), &n) != nil || n.DeviceName == "" || n.ActionType == "" {
		return "", "", false
	}
	subject = fmt.Sprintf("%s: %s is %s and %s", n.ActionType, n.DeviceName, n.AdminState, n.OperatingState)
	text = fmt.Sprintf("%s: %s\nDevice service: %s\nAdmin state: %s\nOperating state: %s\n",
		n.ActionType, n.DeviceName, n.DeviceServiceName, n.AdminState, n.OperatingState)
	return subject, text, true
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
