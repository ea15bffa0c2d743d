package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"ledge/cmd/ledgetest"
)

// TestPicturesComeBack posts pictures, one that is on the log and one that is beside it, and reads them back byte for
// byte: in JSON, in CBOR, as they are and in parts, before a crash and after it.
func TestPicturesComeBack(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	pictures := []string{ledgetest.MustRead(t, "../../../docs/tour/photo.jpg"), strings.Repeat("\xff\xd8\x00\n<\xd9", 100_000)}
	for _, picture := range pictures {
		if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", picture); a.Status != http.StatusOK {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	if small, large := len(pictures[0]), len(pictures[1]); small >= 256<<10 || large <= 256<<10 {
		t.Fatalf("the pictures have %d and %d bytes", small, large)
	}
	showsPictures(p, pictures)
	out, _, _ := ledgetest.Run(t, "log", "--data-dir", dir)
	for _, picture := range pictures {
		if want := fmt.Sprintf("image/jpeg, %d bytes\n", len(picture)); strings.Count(out, want) != 1 {
			t.Errorf("ledge log does not show %s", want)
		}
	}
	p.Kill()
	showsPictures(ledgetest.Start(t, dir), pictures)
}

// showsPictures holds that core-data has the pictures, the last of them first.
func showsPictures(p *ledgetest.Node, want []string) {
	t := p.TB
	t.Helper()
	url := p.CoreData + "/api/v2/reading/device/name/sample-image/resourceName/jpeg"
	var plain, compact ledgetest.Listed
	if err := json.Unmarshal([]byte(ledgetest.Ask(p, url, "application/json").Body), &plain); err != nil {
		t.Fatal(err)
	}
	if err := cbor.Unmarshal([]byte(ledgetest.Ask(p, url, "application/cbor").Body), &compact); err != nil {
		t.Fatal(err)
	}
	if len(plain.Readings) != len(want) || len(compact.Readings) != len(want) || plain.TotalCount != len(want) {
		t.Fatalf("got %d and %d readings, want %d", len(plain.Readings), len(compact.Readings), len(want))
	}
	for i, picture := range want {
		r, c := plain.Readings[len(want)-1-i], compact.Readings[len(want)-1-i]
		if string(r.BinaryValue) != picture || r.MediaType != "image/jpeg" || r.Value != "" {
			t.Errorf("%d in JSON: got %d bytes of %s", i, len(r.BinaryValue), r.MediaType)
		}
		if string(c.BinaryValue) != picture || c.ID != r.ID {
			t.Errorf("%d in CBOR: got %d bytes of %s", i, len(c.BinaryValue), c.ID)
		}
		showsValue(p, r.ID, picture)
	}
}

// showsValue holds that a reading's value is answered as it is, whole and in parts.
func showsValue(p *ledgetest.Node, id, want string) {
	t := p.TB
	t.Helper()
	url := p.CoreData + "/api/v2/reading/id/" + id + "/binary"
	whole := ledgetest.Ask(p, url, "*/*")
	if whole.Status != http.StatusOK || whole.Body != want || whole.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("%s: got %d with %d bytes of %s", id, whole.Status, len(whole.Body), whole.Header.Get("Content-Type"))
	}
	var parts strings.Builder
	for from := 0; from < len(want); from += len(want)/3 + 1 {
		part := ledgetest.Ask(p, url, "*/*", "Range", "bytes="+strconv.Itoa(from)+"-"+strconv.Itoa(from+len(want)/3), "If-Range", whole.Header.Get("ETag"))
		if part.Status != http.StatusPartialContent {
			t.Errorf("%s from %d: got %d", id, from, part.Status)
		}
		parts.WriteString(part.Body)
	}
	if parts.String() != want {
		t.Errorf("%s: the parts have %d bytes, want %d", id, parts.Len(), len(want))
	}
	if same := ledgetest.Ask(p, url, "*/*", "If-None-Match", whole.Header.Get("ETag")); same.Status != http.StatusNotModified {
		t.Errorf("%s: got %d for its ETag", id, same.Status)
	}
	if head := p.Call(http.MethodHead, url, "", ""); head.Header.Get("Content-Length") != strconv.Itoa(len(want)) {
		t.Errorf("%s: HEAD says %v", id, head.Header)
	}
}

// TestCoreDataIsWholeAfterACrash adds an event whose values are on the log, beside it and in the state, in CBOR as device
// services do, and kills the program.
func TestCoreDataIsWholeAfterACrash(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	large := bytes.Repeat([]byte{0, 0xff}, 200_000)
	const id = "6877ff35-5566-5d14-a992-79fbb18d8d4a"
	reading := func(resource, valueType, field string, value any) map[string]any {
		return map[string]any{"origin": 1, "deviceName": "hall", "profileName": "climate", "resourceName": resource, "valueType": valueType, "mediaType": "a/b", field: value}
	}
	body, err := cbor.Marshal(map[string]any{"apiVersion": "v2", "event": map[string]any{
		"apiVersion": "v2", "id": id, "deviceName": "hall", "profileName": "climate", "sourceName": "all", "origin": 1, "tags": map[string]any{"site": "north"},
		"readings": []any{
			reading("large", "Binary", "binaryValue", large), reading("small", "Binary", "binaryValue", large[:10]), reading("number", "Int8", "value", "5"),
			reading("text", "String", "value", strings.Repeat("ü", 200_000)), reading("state", "Object", "objectValue", map[string]any{"a": []any{1, "x"}}),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/climate/hall/all", "application/cbor", string(body)); a.Status != http.StatusCreated {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	before := ledgetest.Ask(p, p.CoreData+"/api/v2/event/id/"+id, "application/json")
	for _, want := range []string{base64.StdEncoding.EncodeToString(large), strings.Repeat("ü", 200_000), `"objectValue":{"a":[1,"x"]}`, `"tags":{"site":"north"}`} {
		if !strings.Contains(before.Body, want) {
			t.Errorf("%.80s is missing in %.300s", want, before.Body)
		}
	}
	p.Kill()
	p = ledgetest.Start(t, dir)
	if after := ledgetest.Ask(p, p.CoreData+"/api/v2/event/id/"+id, "application/json"); after.Body != before.Body || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("got %.300s\nwant %.300s", after.Body, before.Body)
	}
	if again := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/climate/hall/all", "application/cbor", string(body)); again.Status != http.StatusConflict {
		t.Errorf("the same again: got %d %s", again.Status, again.Body)
	}
}

// TestEdgeXDataClients runs a program on EdgeX's own clients of core-data against Ledge.
func TestEdgeXDataClients(t *testing.T) {
	t.Parallel()
	path := ledgetest.BuildOnEdgeX(t, "../testdata/dataclient")
	p := ledgetest.Start(t, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 2*ledgetest.Timeout)
	defer cancel()
	if out, err := exec.CommandContext(ctx, path, p.CoreData).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAggregates sums values up, also after a crash, a removal and a fold of the log from its beginning.
func TestAggregates(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	const first, values = int64(1_700_000_000_000_000_000), 2400 // one each second, which is 1 to 2400
	ids := []string{"00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002", "00000000-0000-7000-8000-000000000003"}
	for e, id := range ids {
		var readings []string
		for i := e * values / 3; i < (e+1)*values/3; i++ {
			readings = append(readings, fmt.Sprintf(
				`{"origin":%d,"deviceName":"meter","profileName":"m","resourceName":"power","valueType":"Int16","value":"%d"}`,
				first+int64(i)*1_000_000_000, i+1))
		}
		body := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"meter","profileName":"m",`+
			`"sourceName":"power","origin":%d,"readings":[%s]}}`, id, first+int64(e), strings.Join(readings, ","))
		a := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/m/meter/power", "application/json", body)
		if a.Status != http.StatusCreated {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	holds := func(p *ledgetest.Node, path string, want string) {
		t.Helper()
		a := ledgetest.Ask(p, p.CoreData+"/api/v2/reading/aggregate/device/name/meter/resourceName/power"+path, "application/json")
		if _, got, _ := strings.Cut(a.Body, `"totalCount":`); a.Status != http.StatusOK || strings.TrimSpace(got) != want {
			t.Errorf("%s: got %d %s, want %s", path, a.Status, a.Body, want)
		}
	}
	const thirds = `2400,"buckets":[{"start":1700000000000000000,"count":800,"min":1,"max":800,"mean":400.5},` +
		`{"start":1700000800000000000,"count":800,"min":801,"max":1600,"mean":1200.5},` +
		`{"start":1700001600000000000,"count":800,"min":1601,"max":2400,"mean":2000.5}]}}`
	within := fmt.Sprintf("/start/%d/end/%d?buckets=3", first, first+2_400_000_000_000-1)
	holds(p, within, thirds)
	p.Kill()
	p = ledgetest.Start(t, dir)
	holds(p, within, thirds)
	if a := p.Call(http.MethodDelete, p.CoreData+"/api/v2/event/id/"+ids[1], "", ""); a.Status != http.StatusOK {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	const ends = `1600,"buckets":[{"start":1700000000000000000,"count":800,"min":1,"max":800,"mean":400.5},` +
		`{"start":1700001600000000000,"count":800,"min":1601,"max":2400,"mean":2000.5}]}}`
	holds(p, within, ends)
	p.Stop()
	if err := os.Remove(filepath.Join(dir, "readings.db")); err != nil {
		t.Fatal(err)
	}
	p = ledgetest.Start(t, dir)
	holds(p, within, ends)
	holds(p, "?buckets=1", `1600,"buckets":[{"start":1700000000000000000,"count":1600,"min":1,"max":2400,"mean":1200.5}]}}`)
}
