package projections

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"ledge/domain"
)

// chainOf stands in for the hash chain of the log.
func chainOf(seq uint64) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64(nil, seq))
}

func recorded(seq uint64, e domain.Event) domain.Recorded {
	at := time.UnixMilli(1_700_000_000_000 + int64(seq)).UTC()
	return domain.Recorded{Stamp: domain.Stamp{At: at, Actor: "anonymous"}, Seq: seq, Chain: chainOf(seq), Event: e}
}

// record numbers events from first.
func record(first uint64, events ...domain.Event) []domain.Recorded {
	list := make([]domain.Recorded, len(events))
	for i, e := range events {
		list[i] = recorded(first+uint64(i), e)
	}
	return list
}

func uuid(kind string, n int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// camera is a device as they are in the field.
func camera(n int) domain.Device {
	return domain.Device{
		ID: uuid("device", n), Name: fmt.Sprintf("camera-%s-%06d", []string{"north", "south", "dock", "gate"}[n%4], n),
		Description: "Camera above lane " + fmt.Sprint(n%40), AdminState: domain.StateUnlocked, OperatingState: domain.StateUp,
		Labels:   []string{"camera", fmt.Sprintf("site-%d", n%100)},
		Location: json.RawMessage(fmt.Sprintf(`{"building":"B%d","level":%d}`, n%10, n%4)), ServiceName: domain.DeviceREST,
		ProfileName: fmt.Sprintf("profile-%d", n%20),
		Protocols:   map[string]map[string]string{"other": {"Address": fmt.Sprintf("10.0.%d.%d", n/250%250, n%250), "Port": "300"}},
		AutoEvents:  []domain.AutoEvent{{Interval: "30s", SourceName: "jpeg"}},
		Created:     1_700_000_000_000 + int64(n), Modified: 1_700_000_000_000 + int64(n),
	}
}

// cameras is the history of n cameras that were added.
func cameras(n int) []domain.Recorded {
	list := make([]domain.Recorded, n)
	for i := range list {
		list[i] = recorded(uint64(i+1), domain.DeviceAdded{Device: camera(i)})
	}
	return list
}
