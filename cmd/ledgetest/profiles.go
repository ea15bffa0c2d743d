package ledgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ManyResources is a profile with n resources and all keys, as EdgeX's clients write it.
func ManyResources(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"v2","profile":{"name":%q,"manufacturer":"m","description":"","model":"m","labels":null,"deviceCommands":[],"deviceResources":[`, name)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"description":"","name":"node-%d","isHidden":false,"tag":"","properties":{"valueType":"Float64","readWrite":"RW","units":"","minimum":"","maximum":"",`+
			`"defaultValue":"","mask":"","shift":"","scale":"","offset":"","base":"","assertion":"","mediaType":""},"attributes":{"nodeId":"ns=2;s=Channel1.Device1.Tag%d"}}`, i, i)
	}
	b.WriteString("]}}")
	return b.String()
}

// YAMLForm is a form with a YAML file.
func YAMLForm(file string) string {
	return "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"p.yaml\"\r\n\r\n" + file + "\r\n--B--\r\n"
}

// YAMLFormType is the Content-Type of what YAMLForm returns.
const YAMLFormType = "multipart/form-data; boundary=B"

// ManyResourcesYAML returns a profile with n resources, in YAML.
func ManyResourcesYAML(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nmanufacturer: m\nlabels: [opc-ua]\ndeviceResources:\n", name)
	for i := range n {
		fmt.Fprintf(&b, "  - name: node-%d\n    description: \"tag %[1]d\"\n    properties:\n      valueType: Float64\n      readWrite: RW\n      units: C\n    attributes: { nodeId: \"ns=2;s=Tag%[1]d\" }\n", i)
	}
	return YAMLForm(b.String())
}

// The tests in this file are named after the numbered rows of the specification that Ledge was built to.

// StartSeed starts a node whose log has all lines.
func StartSeed(t *testing.T, flags ...string) *Node {
	t.Helper()
	return Start(t, t.TempDir(), append(flags, "--log-level", "debug")...)
}

// Upload posts a profile file as multipart form data with one part named part.
func (p *Node) Upload(part, yaml string) Answer {
	p.TB.Helper()
	return p.SendFile(http.MethodPost, part, yaml)
}

// SendFile sends a profile file as multipart form data with one part named part.
func (p *Node) SendFile(method, part, yaml string) Answer {
	p.TB.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	w, err := form.CreateFormFile(part, "profile.yaml")
	if err != nil {
		p.TB.Fatal(err)
	}
	_, _ = w.Write([]byte(yaml))
	form.Close()
	return p.Call(method, p.Metadata+"/api/v2/deviceprofile/uploadfile", form.FormDataContentType(), b.String())
}

// MustRead returns the text of a file.
func MustRead(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Get decodes one entity of an answer.
func (p *Node) Get(url, entity string) map[string]any {
	p.TB.Helper()
	a := p.Call(http.MethodGet, url, "", "")
	var all map[string]any
	if err := json.Unmarshal([]byte(a.Body), &all); err != nil || a.Status != http.StatusOK {
		p.TB.Fatalf("GET %s: got %d %s, want 200", url, a.Status, a.Body)
	}
	m, _ := all[entity].(map[string]any)
	return m
}

// MustWriteFile writes a file in a temporary folder and returns its path.
func MustWriteFile(tb testing.TB, name, text string) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// UnitsTOML is a file of units as EdgeX 2.3 has it.
const UnitsTOML = `Source="a book"
[Units]
  [Units.temperature]
  Source="a thermometer"
  Values=["C", "F"]
  [Units."air flow"]
  Values=["m³/h"]
`
