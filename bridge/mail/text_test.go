package mail

import (
	"strings"
	"testing"

	"ledge/bridge/outward"
)

func TestDescribeMessage(t *testing.T) {
	const change = `{"deviceName":"cam-1","deviceServiceName":"device-rest","actionType":"Device update",` +
		`"operatingState":"UP","adminState":"LOCKED"}`
	long := strings.Repeat("ü", mostSubject+1)
	for _, tt := range []struct{ media, body, subject, as, text string }{
		{"application/json", change, "Device update: cam-1 is LOCKED and UP", "text/plain",
			"Device update: cam-1\nDevice service: device-rest\nAdmin state: LOCKED\nOperating state: UP\n"},
		{"text/plain", outward.Escalate("4f6653be-09a1-4054-af70-4d93899f299c", "Door open\nnow"), "Escalated: Door open", "text/plain",
			outward.Escalate("4f6653be-09a1-4054-af70-4d93899f299c", "Door open\nnow")},
		{"text/plain", outward.Escalate("t", change), "Escalated: Device update: cam-1 is LOCKED and UP", "text/plain",
			outward.Escalate("t", change)},
		{"application/json", `{"deviceName":"cam-1"}`, "Notification from core-metadata", "application/json", `{"deviceName":"cam-1"}`},
		{"application/json", `[`, "Notification from core-metadata", "application/json", `[`},
		{"text/plain", "\n Door open \r\nBcc: x", "Door open", "text/plain", "\n Door open \r\nBcc: x"},
		{"text/plain", " ", "Notification from core-metadata", "text/plain", " "},
		{"text/plain", "a\tb\x00c", "a b c", "text/plain", "a\tb\x00c"},
		{"text/plain", long, strings.Repeat("ü", mostSubject-1) + "…", "text/plain", long},
		{"text/html", "<p>x</p>", "Notification from core-metadata", "text/html", "<p>x</p>"},
	} {
		m := message
		m.Body = []byte(tt.body)
		if subject, as, text := describeMessage(m, tt.media); subject != tt.subject || as != tt.as || text != tt.text {
			t.Errorf("%s %.40q: got %q, %s, %q", tt.media, tt.body, subject, as, text)
		}
	}
	posted := message
	posted.Sender, posted.Body = "till-7", []byte(change)
	if _, as, text := describeMessage(posted, "application/json"); as != "application/json" || text != change {
		t.Errorf("JSON of another sender became %s %q", as, text)
	}
}
