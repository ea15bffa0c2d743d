package ledgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Item is the answer to one element of a batch.
type Item struct {
	RequestID, ID, Message string
	StatusCode             int
}

// batchID is the request id of element i of a batch.
func batchID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// Array is a batch of n elements that format makes of their request ids and numbers.
func Array(n int, element func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"apiVersion":"v2","requestId":%q,%s}`, batchID(i), element(i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// Ordinary are devices as they are in the field.
func Ordinary(prefix string, n int) string {
	return Array(n, func(i int) string {
		return fmt.Sprintf(`"device":{"name":"%s-%d","description":"Camera above lane %d","adminState":"UNLOCKED","operatingState":"UP",
			"labels":["camera","site-%d"],"location":{"building":"B1","level":%d},"serviceName":"device-rest","profileName":"sample-image",
			"protocolName":"rest","protocols":{"other":{"Address":"10.0.0.%d","Port":"300"}},
			"autoEvents":[{"interval":"30s","onChange":false,"sourceName":"jpeg"}]}`, prefix, i, i%40, i%100, i%4, i%250)
	})
}

// ItemsOf holds that a is a 207 with n items in the order of their elements.
func ItemsOf(tb testing.TB, a Answer, n int) []Item {
	tb.Helper()
	var items []Item
	if err := json.Unmarshal([]byte(a.Body), &items); err != nil || a.Status != http.StatusMultiStatus || len(items) != n {
		tb.Fatalf("got %d with %d items, %v, want 207 with %d: %.300s", a.Status, len(items), err, n, a.Body)
	}
	for i, one := range items {
		if one.RequestID != batchID(i) {
			tb.Fatalf("item %d is that of %q, want %q", i, one.RequestID, batchID(i))
		}
	}
	return items
}

// AllAre holds that each item has a status.
func AllAre(tb testing.TB, items []Item, status int) {
	tb.Helper()
	for i, one := range items {
		if one.StatusCode != status || (one.ID != "") != (status == http.StatusCreated) {
			tb.Fatalf("item %d: got %+v, want %d", i, one, status)
		}
	}
}

// DeviceCount returns how many devices there are.
func DeviceCount(p *Node) int {
	p.TB.Helper()
	var list struct{ TotalCount int }
	a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all?limit=1", "", "")
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != http.StatusOK {
		p.TB.Fatalf("list devices: %d %s", a.Status, a.Body)
	}
	return list.TotalCount
}
