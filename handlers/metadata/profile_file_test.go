package metadata

import (
	"fmt"
	"strings"
	"testing"

	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const formType = "Content-Type: multipart/form-data; boundary=b0undary"

// form is a multipart body with one file under the name of part.
func form(part, file string) string {
	return "--b0undary\r\nContent-Disposition: form-data; name=\"" + part + "\"; filename=\"p.yaml\"\r\n" +
		"Content-Type: application/x-yaml\r\n\r\n" + file + "\r\n--b0undary--\r\n"
}

const cameraYAML = `# as users write it
apiVersion: "v2"
name: yaml-1
manufacturer: ACME
model: 7
labels: [indoor, 5]
x-something: {a: 1}
deviceResources:
  - &jpeg
    name: jpeg
    isHidden: yes
    properties: &props
      valueType: binary
      readWrite: R
      minimum: 0
      maximum: 1.5
      defaultValue: true
      mediaType: image/jpeg
    attributes:
      key: [1, two, {3: ".nan"}]
  - <<: *jpeg
    name: png
    properties:
      <<: *props
      mediaType: image/png
deviceCommands:
  - name: c1
    readWrite: R
    resourceOperations:
      - {deviceResource: jpeg, mappings: {1: "on"}}
`

func TestUploadProfile(t *testing.T) {
	h, log := mustMetadata(t)
	path := "/api/v2/deviceprofile/uploadfile"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "as users write it", Method: "POST", Path: path, Header: []string{formType}, Body: form("file", cameraYAML), Status: 201, Submits: 1, WantBody: `{"apiVersion":"v2","statusCode":201,"id":"` + handlerstest.ID(2) + `"}` + "\n"},
		{
			Name: "what came of it", Method: "GET", Path: "/api/v2/deviceprofile/name/yaml-1", Status: 200,
			Contains: []string{
				`"name":"yaml-1","manufacturer":"ACME","description":"","model":"7","labels":["indoor","5"]`,
				`"name":"jpeg","isHidden":true,"tag":"","properties":{"valueType":"Binary","readWrite":"R","units":"","minimum":"0","maximum":"1.5","defaultValue":"true"`,
				`"mediaType":"image/jpeg"},"attributes":{"key":[1,"two",{"3":".nan"}]}}`, `"name":"png"`, `"mediaType":"image/png"`, `"mappings":{"1":"on"}`,
			},
		},
		{Name: "again", Method: "POST", Path: path, Header: []string{formType}, Body: form("file", cameraYAML), Status: 409, Submits: 1, Contains: []string{`"message":"profile name \"yaml-1\" exists already`, `"statusCode":409`}},
		{Name: "JSON is YAML", Method: "POST", Path: path, Header: []string{formType}, Body: form("file", `{"name":"yaml-2"}`), Status: 201, Submits: 1},
		{Name: "another part first", Method: "POST", Path: path, Header: []string{formType}, Body: strings.TrimSuffix(form("other", "x"), "--b0undary--\r\n") + form("file", "name: yaml-3"), Status: 201, Submits: 1},
	})
}

func TestBadUploads(t *testing.T) {
	h, log := mustMetadata(t, func(o *handlers.Options) { o.UploadBytes = 20_000 })
	yaml := func(name, file string, status int, want string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Header: []string{formType}, Body: form("file", file), Status: status, Contains: []string{want}}
	}
	var keys, bomb strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 8), i)
	}
	scenarios := []handlerstest.Scenario{
		{Name: "other part", Header: []string{formType}, Body: form("other", cameraYAML), Status: 400, Contains: []string{`the form has no part named \"file\"; send the profile as multipart/form-data`}},
		{Name: "no boundary", Header: []string{"Content-Type: multipart/form-data"}, Body: form("file", cameraYAML), Status: 400, Contains: []string{"has no boundary"}},
		{Name: "other boundary", Header: []string{"Content-Type: multipart/form-data; boundary=x"}, Body: form("file", cameraYAML), Status: 400, Contains: []string{"the form"}},
		{Name: "no form", Header: []string{"Content-Type: application/json"}, Body: "[]", Status: 400, Contains: []string{"is not multipart/form-data"}},
		{Name: "no content type", Body: form("file", cameraYAML), Status: 400, Contains: []string{"is not multipart/form-data"}},
		{Name: "empty body", Header: []string{formType}, Status: 400, Contains: []string{"the form"}},
		{Name: "cut off", Header: []string{formType}, Body: form("file", cameraYAML)[:200], Status: 400, Contains: []string{"the form is broken"}},
		{Name: "over the limit", Header: []string{formType}, Body: form("file", strings.Repeat("#", 20_001)), Status: 413, Contains: []string{"longer than 20000 bytes"}},
		{Name: "form over the limit", Header: []string{formType}, Body: form("file", strings.Repeat("#", 200_000)), Status: 413, Contains: []string{"the body is longer than"}},
		yaml("empty file", "", 400, "file: is empty"),
		yaml("only a comment", "# nothing\n", 400, "file: is empty"),
		yaml("text", "just text", 400, "file: line 1: is not a mapping"),
		yaml("list", "- a", 400, "is not a mapping"),
		yaml("no YAML", "name: [a\nb: }", 400, "file: line"),
		yaml("tab", "name: a\n\tb: c", 400, "file:"),
		yaml("infinite", "name: p\ndeviceResources:\n- {name: r, attributes: {a: -.inf}}", 400, "file: line 3: -.inf is not a number in JSON; write it in quotes"),
		yaml("no number", "name: p\ndeviceResources:\n- {name: r, attributes: {a: [{b: .NaN}]}}", 400, "file: line 3: .NaN is not a number in JSON"),
		yaml("no number, with a tag", "name: p\ndeviceResources:\n- {name: r, attributes: {a: !!float '.nan'}}", 400, "file: line 3: .nan is not a number in JSON"),
		yaml("second document", "name: p\n---\nname: q\n", 400, `"file: line 3: a second document begins; upload each profile as a file of its own"`),
		yaml("second document that is no YAML", "name: p\n---\nname: [\n", 400, "file: line 3: a second document begins"),
		yaml("second document in JSON", "{\"name\": \"p\"}\n{\"name\": \"q\"}\n", 400, "file: line 2: a second document begins"),
		yaml("control character", "name: \x01", 400, "file:"),
		yaml("no name", "manufacturer: x", 400, "file.name: is missing or empty"),
		yaml("unknown value type", "name: p\ndeviceResources:\n - name: r\n   properties: {valueType: Bin, readWrite: R}", 400, `file.deviceResources[0].properties.valueType: \"Bin\" is unknown`),
		yaml("list for text", "name: [a]", 400, "file: line 1: found !!seq, want string"),
		yaml("text for list", "name: p\ndeviceResources: x", 400, "file: line 2: found !!str `x`, want a list"),
		yaml("text for a boolean", "name: p\ndeviceCommands: [{name: c, isHidden: maybe}]", 400, "want bool"),
		yaml("duplicate key", "name: a\nname: b", 400, `already defined at line 1`),
		yaml("unknown alias", "name: *nosuch", 400, "file: unknown anchor"),
		yaml("contains itself", "name: p\nx: &x [*x]", 400, "contains itself"),
		yaml("alias bomb", bomb.String(), 413, "the aliases make more than"),
		yaml("long text many times", "x: &x "+strings.Repeat("y", 9000)+"\nname: p\nlabels: ["+strings.Repeat("*x,", 3000)+"]", 413, "the aliases make more than"),
		yaml("too deep", "name: p\nx: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000), 400, "levels deep"),
		yaml("deeper than the library goes", strings.Repeat("[", 15_000), 400, "file:"),
		yaml("too wide", keys.String(), 400, "more than 1000 keys"),
	}
	for i := range scenarios {
		scenarios[i].Method, scenarios[i].Path = "POST", "/api/v2/deviceprofile/uploadfile"
	}
	handlerstest.Run(t, h, log, scenarios)
}

func FuzzDecodeProfile(f *testing.F) {
	f.Add([]byte(cameraYAML))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("deviceResources: [{attributes: {a: !!float nan, b: !!float '-.Inf'}}]"))
	f.Add([]byte("<<: {a: 1}\n? [x]\n: !!binary aGk="))
	f.Add([]byte("{[: , ]}\n--- \n%YAML 9.9"))
	f.Fuzz(func(t *testing.T, file []byte) {
		shape, _, err := decodeProfile(file, 1<<16, func(int64) error { return nil })
		if err != nil {
			return
		}
		for _, r := range shape.DeviceResources {
			mustMarshal(t, r.Attributes)
		}
	})
}
