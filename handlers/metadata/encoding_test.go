package metadata

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
)

// A compressed body is refused before it is read, wherever JSON or a file is taken; a byte order mark is not a fault.
func TestEncodedBodies(t *testing.T) {
	h, log := mustMetadata(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("[]"))
	_ = z.Close()
	var all []handlerstest.Scenario
	for _, to := range []string{
		"POST /api/v2/device", "PATCH /api/v2/device", "POST /api/v2/deviceprofile", "PUT /api/v2/deviceprofile", "POST /api/v2/deviceprofile/uploadfile",
		"POST /api/v2/deviceservice", "POST /api/v2/provisionwatcher",
	} {
		method, path, _ := strings.Cut(to, " ")
		for _, coding := range []string{"gzip", "x-gzip", "br", "identity, deflate"} {
			all = append(all, handlerstest.Scenario{
				Name: to + " " + coding, Method: method, Path: path, Header: []string{formType, "Content-Encoding: " + coding}, Body: zipped.String(), Status: 415,
				Contains: []string{"Content-Encoding: ", "is not supported; send the body as it is"}, WantHeader: []string{"Accept-Encoding: identity"},
			})
		}
	}
	bom := "\ufeff" + batch("service", `{"name":"bom","baseAddress":"http://h:1","adminState":"UNLOCKED"}`)
	handlerstest.Run(t, h, log, append(all,
		handlerstest.Scenario{Name: "byte order mark", Method: "POST", Path: "/api/v2/deviceservice", Header: []string{"Content-Encoding: identity"}, Body: bom, Status: 207, Submits: 1, Loose: "the document has JSON", Contains: []string{`"statusCode":201`}},
		handlerstest.Scenario{Name: "only that", Method: "POST", Path: "/api/v2/deviceservice", Body: "\ufeff", Status: 400, Contains: []string{"the body is empty"}},
		handlerstest.Scenario{Name: "two of them", Method: "POST", Path: "/api/v2/deviceservice", Body: "\ufeff" + bom, Status: 400, Contains: []string{"the body is no JSON"}},
	))
}
