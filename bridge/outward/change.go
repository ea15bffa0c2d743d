package outward

import (
	"fmt"
	"strings"
)

// ChangeSender sends the notifications of device changes.
const ChangeSender = "core-metadata"

// Change is the content of the notification of a device change, in the form of EdgeX 2.3: these five fields and no others.
type Change struct {
	DeviceName        string `json:"deviceName"`
	DeviceServiceName string `json:"deviceServiceName"`
	ActionType        string `json:"actionType"`
	OperatingState    string `json:"operatingState"`
	AdminState        string `json:"adminState"`
}

// escalated begins the content of an escalation, with the wording of EdgeX 2.3.
const escalated = "[This notification is escalated by the transmission "

// Escalate returns the content of an escalation by a transmission.
func Escalate(transmission, content string) string {
	return fmt.Sprintf("%s%s] %s", escalated, transmission, content)
}

// Escalated returns the content that was escalated; ok is false for another content.
func Escalated(content string) (inner string, ok bool) {
	rest, ok := strings.CutPrefix(content, escalated)
	if ok {
		_, inner, ok = strings.Cut(rest, "] ")
	}
	return inner, ok
}
