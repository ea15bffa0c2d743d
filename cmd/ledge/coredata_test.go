package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// listed are readings as core-data lists them.
type listed struct {
	TotalCount int
	Readings   []struct {
		ID, ResourceName, ValueType, MediaType, Value string
		BinaryValue                                   []byte
	}
}

// TestPicturesComeBack posts pictures, one that is on the log and one that is beside it, and reads them back byte for
// byte: in JSON, in CBOR, as they are and in parts, before a crash and after it.
func TestPicturesComeBack(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	pictures := []string{mustRead(t, "../../docs/tour/photo.jpg"), strings.Repeat("\xff\xd8\x00\n<\xd9", 100_000)}
	for _, picture := range pictures {
		if a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", picture); a.status != http.StatusOK {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
	if small, large := len(pictures[0]), len(pictures[1]); small >= 256<<10 || large <= 256<<10 {
		t.Fatalf("the pictures have %d and %d bytes", small, large)
	}
	p.showsPictures(pictures)
	out, _, _ := ledge(t, "log", "--data-dir", dir)
	for _, picture := range pictures {
		if want := fmt.Sprintf("image/jpeg, %d bytes\n", len(picture)); strings.Count(out, want) != 1 {
			t.Errorf("ledge log does not show %s", want)
		}
	}
	p.kill()
	start(t, dir).showsPictures(pictures)
}

// showsPictures holds that core-data has the pictures, the last of them first.
func (p *process) showsPictures(want []string) {
	t := p.tb
	t.Helper()
	url := p.coreData + "/api/v2/reading/device/name/sample-image/resourceName/jpeg"
	var plain, compact listed
	if err := json.Unmarshal([]byte(p.ask(url, "application/json").body), &plain); err != nil {
		t.Fatal(err)
	}
	if err := cbor.Unmarshal([]byte(p.ask(url, "application/cbor").body), &compact); err != nil {
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
		p.showsValue(r.ID, picture)
	}
}

// showsValue holds that a reading's value is answered as it is, whole and in parts.
func (p *process) showsValue(id, want string) {
	t := p.tb
	t.Helper()
	url := p.coreData + "/api/v2/reading/id/" + id + "/binary"
	whole := p.ask(url, "*/*")
	if whole.status != http.StatusOK || whole.body != want || whole.header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("%s: got %d with %d bytes of %s", id, whole.status, len(whole.body), whole.header.Get("Content-Type"))
	}
	var parts strings.Builder
	for from := 0; from < len(want); from += len(want)/3 + 1 {
		part := p.ask(url, "*/*", "Range", "bytes="+strconv.Itoa(from)+"-"+strconv.Itoa(from+len(want)/3), "If-Range", whole.header.Get("ETag"))
		if part.status != http.StatusPartialContent {
			t.Errorf("%s from %d: got %d", id, from, part.status)
		}
		parts.WriteString(part.body)
	}
	if parts.String() != want {
		t.Errorf("%s: the parts have %d bytes, want %d", id, parts.Len(), len(want))
	}
	if same := p.ask(url, "*/*", "If-None-Match", whole.header.Get("ETag")); same.status != http.StatusNotModified {
		t.Errorf("%s: got %d for its ETag", id, same.status)
	}
	if head := p.call(http.MethodHead, url, "", ""); head.header.Get("Content-Length") != strconv.Itoa(len(want)) {
		t.Errorf("%s: HEAD says %v", id, head.header)
	}
}

// ask asks with Accept and other headers, each a name and a value.
func (p *process) ask(url, accept string, header ...string) answer {
	p.tb.Helper()
	return p.call(http.MethodGet, url, "", "", append([]string{"Accept", accept}, header...)...)
}

// TestCoreDataIsWholeAfterACrash adds an event whose values are on the log, beside it and in the state, in CBOR as device
// services do, and kills the program.
func TestCoreDataIsWholeAfterACrash(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
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
	if a := p.call(http.MethodPost, p.coreData+"/api/v2/event/climate/hall/all", "application/cbor", string(body)); a.status != http.StatusCreated {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	before := p.ask(p.coreData+"/api/v2/event/id/"+id, "application/json")
	for _, want := range []string{base64.StdEncoding.EncodeToString(large), strings.Repeat("ü", 200_000), `"objectValue":{"a":[1,"x"]}`, `"tags":{"site":"north"}`} {
		if !strings.Contains(before.body, want) {
			t.Errorf("%.80s is missing in %.300s", want, before.body)
		}
	}
	p.kill()
	p = start(t, dir)
	if after := p.ask(p.coreData+"/api/v2/event/id/"+id, "application/json"); after.body != before.body || after.header.Get("ETag") != before.header.Get("ETag") {
		t.Errorf("got %.300s\nwant %.300s", after.body, before.body)
	}
	if again := p.call(http.MethodPost, p.coreData+"/api/v2/event/climate/hall/all", "application/cbor", string(body)); again.status != http.StatusConflict {
		t.Errorf("the same again: got %d %s", again.status, again.body)
	}
}

// TestEdgeXDataClients runs a program on EdgeX's own clients of core-data against Ledge.
func TestEdgeXDataClients(t *testing.T) {
	t.Parallel()
	path := buildOnEdgeX(t, "testdata/dataclient")
	p := start(t, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 2*hangs)
	defer cancel()
	if out, err := exec.CommandContext(ctx, path, p.coreData).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
