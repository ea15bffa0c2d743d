package bridge

import (
	"encoding/json"

	"github.com/google/uuid"

	"ledge/bridge/outward"
	"ledge/domain"
)

// deviceChange returns the device that an event changed, and the action in the words of EdgeX 2.3. ok is false if only the reported times changed.
func deviceChange(e domain.Event) (d domain.Device, action string, ok bool) {
	switch e := e.(type) {
	case domain.DeviceAdded:
		return e.Device, "Device creation", true
	case domain.DeviceUpdated:
		return e.Device, "Device update", !domain.OnlyReported(e.Changed)
	case domain.DeviceRemoved:
		return e.Device, "Device removal", true
	default:
		return domain.Device{}, "", false
	}
}

// Raise returns the notification that a recorded event raises; ok is false where it raises none. Sender, label and
// description are those of EdgeX 2.3.
func Raise(r domain.Recorded) (n domain.Notification, ok bool) {
	d, action, ok := deviceChange(r.Event)
	if !ok {
		return n, false
	}
	body, _ := json.Marshal(outward.Change{ // strings only: cannot fail
		DeviceName: d.Name, DeviceServiceName: d.ServiceName, ActionType: action,
		OperatingState: d.OperatingState, AdminState: d.AdminState,
	})
	ms := r.At.UnixMilli()
	return domain.Notification{
		ID: derive(r.EventID, "notification"), Category: domain.DeviceChanged, Labels: []string{domain.DeviceChangedLabel},
		Content: string(body), ContentType: "application/json", Description: "Metadata change notice",
		Sender: outward.ChangeSender, Severity: domain.SeverityNormal, Status: domain.StatusNew,
		Created: ms, Modified: ms, Cause: r.Seq,
	}, true
}

// derive makes an id that is the same each time it is made from the same id. It begins as that does, with its time where
// it is a UUID of version 7, so that neighbours in time are neighbours in the projections; the rest is a hash (version 8
// of RFC 9562).
func derive(id, what string) string {
	hash := uuid.NewSHA1(uuid.NameSpaceOID, []byte(id+"/"+what))
	if from, err := uuid.Parse(id); err == nil {
		copy(hash[:8], from[:8])
		hash[6] = 0x80 | hash[6]&0x0f
	}
	return hash.String()
}
