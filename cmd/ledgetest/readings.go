package ledgetest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections"
	"ledge/store/osfile"

	"github.com/google/uuid"
)

// BelowReadings is a reserve of which a test's folder has more free and four times as much not: readings are refused, changes are not.
func BelowReadings(t *testing.T) string {
	t.Helper()
	free, err := osfile.FreeBytes(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatUint(free/2, 10)
}

// Listed are readings as core-data lists them.
type Listed struct {
	TotalCount int
	Readings   []struct {
		ID, ResourceName, ValueType, MediaType, Value string
		BinaryValue                                   []byte
	}
}

// Ask asks with Accept and other headers, each a name and a value.
func Ask(p *Node, url, accept string, header ...string) Answer {
	p.TB.Helper()
	return p.Call(http.MethodGet, url, "", "", append([]string{"Accept", accept}, header...)...)
}

// LargeBody is larger than what a message holds.
var LargeBody = strings.Repeat("large", 100_000)

// PostImage posts a picture to the sample device.
func (p *Node) PostImage(body string) Answer {
	return p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", body)
}

// Payloads are the files of bodies, whatever their names.
func Payloads(p *Node) []string {
	p.TB.Helper()
	files, err := filepath.Glob(filepath.Join(p.Dir, "payloads", "*"))
	if err != nil {
		p.TB.Fatal(err)
	}
	return files
}

// LargePicture is a picture that is kept as a file.
func LargePicture(n int) string { return strings.Repeat(fmt.Sprintf("\xff\xd8\r\n%d\x00", n), 100_000) }

// PostPictureEvent posts an event as another device service does.
func PostPictureEvent(p *Node, id string, pictures ...string) {
	p.TB.Helper()
	var readings []string
	for _, picture := range pictures {
		readings = append(readings, fmt.Sprintf(`{"origin":1,"deviceName":"hall","profileName":"watch","resourceName":"view","valueType":"Binary","mediaType":"image/png","binaryValue":%q}`,
			base64.StdEncoding.EncodeToString([]byte(picture))))
	}
	readings = append(readings, `{"origin":1,"deviceName":"hall","profileName":"watch","resourceName":"count","valueType":"Int8","value":"5"}`)
	body := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"hall","profileName":"watch","sourceName":"all","origin":1,"readings":[%s]}}`, id, strings.Join(readings, ","))
	if a := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/watch/hall/all", "application/json", body); a.Status != http.StatusCreated {
		p.TB.Fatalf("got %d %s", a.Status, a.Body)
	}
}

// MapsEqual reports whether two maps are the same.
func MapsEqual(a, b map[string]int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

var keptEvents = regexp.MustCompile(`ledge_retention_kept_events{rule="[^"]*"} ([0-9.e+]+)`)

// KeptByRule asks for the metric.
func KeptByRule(p *Node) int {
	p.TB.Helper()
	text := p.Call("GET", p.CoreData+"/metrics", "", "").Body
	found := keptEvents.FindStringSubmatch(text)
	if found == nil {
		p.TB.Fatalf("no ledge_retention_kept_events in\n%s", text)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		p.TB.Fatal(err)
	}
	return int(n)
}

// Reading is a value of so many bytes, posted to a resource of a device with the profile "p".
func Reading(device, resource string, bytes int) domain.Command {
	r := domain.Reading{ID: NewID(), Profile: "p", Device: device, Resource: resource, ValueType: domain.Binary, MediaType: "image/jpeg",
		Size: int64(bytes), Origin: time.Now().UnixNano()}
	return domain.PostReading{Reading: domain.ReadingPosted{Reading: r, Value: make([]byte, bytes)}}
}

// NewID returns a UUID.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// TotalOf returns how many entities a list has.
func TotalOf(t *testing.T, db *projections.DB, list string) int {
	t.Helper()
	v, release := db.View()
	defer release()
	_, n, err := v.Keys(list, projections.Page{})
	if err != nil {
		t.Error(err)
	}
	return n
}
